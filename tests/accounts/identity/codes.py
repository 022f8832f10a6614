"""Codes as an authenticator app computes them (RFC 6238), apart from the library that checks them."""

import base64
import hashlib
import hmac
import re
import struct
import time

from tests.markup import markup

RIGHT = "plumb line 12"


def code_of(secret, moment=0):
    """The code of the secret now, or `moment` periods of 30 seconds later."""
    counter = struct.pack(">Q", int(time.time() // 30) + moment)
    digest = hmac.new(base64.b32decode(secret), counter, hashlib.sha1).digest()
    place = digest[-1] & 15
    return f"{(struct.unpack('>I', digest[place : place + 4])[0] & 0x7FFFFFFF) % 10**6:06d}"


def confirm(client, address):
    """Follow to the page that asks for the password again, and answer it, unless that was done a moment ago."""
    page = client.get(address)
    if page.status_code == 200:
        return
    assert page["Location"].startswith("/account/confirm/"), page
    assert client.post(page["Location"], {"password": RIGHT})["Location"] == address


def set_up_app(client):
    """Set up an authenticator app for the signed-in person; its secret and the recovery codes."""
    confirm(client, "/account/factors/app/")
    (secret,) = re.findall(r"<code>([A-Z2-7]{32})</code>", markup(client.get("/account/factors/app/")))
    shown = client.post("/account/factors/app/", {"code": code_of(secret)}, follow=True)
    return secret, re.findall(r"<code>(\d{8})</code>", markup(shown))
