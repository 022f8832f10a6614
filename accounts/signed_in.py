"""Kept under the name that stands in every live session and in the settings: accounts/sign_in/session.py holds the code."""

from accounts.sign_in.session import Accounts as Accounts, SessionStore as SessionStore
