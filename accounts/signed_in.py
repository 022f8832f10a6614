"""An alias that every live session and the settings name; accounts/sign_in/session.py holds the code."""

from accounts.sign_in.session import Accounts as Accounts, SessionStore as SessionStore
