"""The plugin as a service: what it prepares before it serves, and the application."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from plugin_postgres.app import create_app
from plugin_postgres.database import NAME
from plugin_postgres.route import bad_request_body
from plugin_postgres.schema import SCHEMA, warn_without_vectors
from plugin_postgres.settings import Settings
from postgres.provide import database_for
from serving.service import Service


@contextmanager
def prepare(settings: Settings) -> Iterator[Settings]:
    """A database that is up and has the plugin's schema."""
    with database_for(settings, SCHEMA, command=NAME, afterwards=warn_without_vectors) as settings:
        yield settings


def migrate(settings: Settings) -> None:
    """Only bring the schema up to date."""
    with prepare(replace(settings, skip_migrate=False)):
        pass


SERVICE = Service(
    name=NAME,
    summary="Serve the memory plugin contract on PostgreSQL.",
    package="plugin_postgres",
    settings=Settings,
    prepare=prepare,
    create_app=create_app,
    migrate=migrate,
    bad_request=bad_request_body,
)
