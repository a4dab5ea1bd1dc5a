from serving.command import command, run
from serving.service import Service
from tests.toy.app import NAME, create_app, prepare
from tests.toy.settings import Settings

SERVICE = Service(
    name=NAME,
    summary="Keep notes.",
    package="tests",
    settings=Settings,
    prepare=prepare,
    create_app=create_app,
)
app = command(SERVICE)

if __name__ == "__main__":
    run(app, SERVICE.name)
