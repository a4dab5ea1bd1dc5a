"""What a stranger installs: the wheel, without this clone beside it."""
