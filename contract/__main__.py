"""`python -m contract` prints the OpenAPI document."""

import sys

from contract.document import openapi_yaml

if __name__ == "__main__":
    sys.stdout.write(openapi_yaml())
