"""End with 0 if the web server answers at the given address, and with 1 otherwise: the health check of the container."""

import http.client
import os
import sys
from urllib.parse import urlsplit


def main(address: str) -> int:
    place = urlsplit(address)
    # A server in production answers only to its own names.
    name = os.environ.get("PLUMBLINE_ALLOWED_HOSTS", "").split(",")[0].strip().lstrip(".*") or "localhost"
    try:
        connection = http.client.HTTPConnection(place.hostname or "127.0.0.1", place.port or 80, timeout=4)
        connection.request("GET", place.path, headers={"Host": name, "X-Forwarded-Proto": "https"})
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        print(f"{address} does not answer ({error}).")
        return 1
    print(f"{address} answers with status {status}.")
    return 0 if status == 200 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
