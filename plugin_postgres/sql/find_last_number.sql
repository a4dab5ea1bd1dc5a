-- The number of the memory that was written last, or is being written.
SELECT coalesce(pg_sequence_last_value(
    pg_get_serial_sequence('memory_plugin.memory_records', 'number')::regclass
), 0)
