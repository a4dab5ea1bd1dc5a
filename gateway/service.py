"""The gateway as a service: what it prepares before it serves, and the application."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from gateway.app import NAME, bad_request_body, create_app
from gateway.schema import SCHEMA
from gateway.settings import Settings
from postgres.provide import database_for
from serving.plugin import plugin_for
from serving.service import Service


@contextmanager
def prepare(settings: Settings) -> Iterator[Settings]:
    """A database that is up and has the gateway's schema, and a plugin."""
    with (
        database_for(settings, SCHEMA, command=NAME) as settings,
        plugin_for(settings, NAME) as settings,
    ):
        yield settings


def migrate(settings: Settings) -> None:
    """Only bring the schema up to date."""
    with database_for(replace(settings, skip_migrate=False), SCHEMA, command=NAME):
        pass


SERVICE = Service(
    name=NAME,
    summary="Remember what agents and users say, and find it again.",
    package="gateway",
    settings=Settings,
    prepare=prepare,
    create_app=create_app,
    migrate=migrate,
    bad_request=bad_request_body,
)
