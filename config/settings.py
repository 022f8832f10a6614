"""Settings, read once from environment variables, which docs/operations.md lists."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dj_database_url
from csp.constants import NONCE, NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from config import environment
from generation.llm.protocol.allowed_hosts import read_hosts, read_keys

BASE_DIR = Path(__file__).resolve().parent.parent
MODE = environment.choice("PLUMBLINE_MODE", default="local", options=("local", "production"))
LOCAL = MODE == "local"
DEBUG = environment.boolean("PLUMBLINE_DEBUG", default=False)
DATA_DIR = environment.folder("PLUMBLINE_DATA_DIR", default=BASE_DIR / "var")

LOCAL_KEY = "for-one-machine-only-" + "0" * 40
SECRET_KEY = environment.text("PLUMBLINE_SECRET_KEY", LOCAL_KEY if LOCAL else "")
if len(SECRET_KEY) < 40 or (not LOCAL and SECRET_KEY == LOCAL_KEY):
    raise ImproperlyConfigured(
        "PLUMBLINE_SECRET_KEY is invalid; in production, set it to a secret of at least 40 characters."
    )
ALLOWED_HOSTS = environment.words(
    "PLUMBLINE_ALLOWED_HOSTS", default=("localhost", "127.0.0.1", "[::1]") if LOCAL else ()
)
if not LOCAL and (not ALLOWED_HOSTS or DEBUG):
    raise ImproperlyConfigured("In production mode, set PLUMBLINE_ALLOWED_HOSTS and turn PLUMBLINE_DEBUG off.")
CSRF_TRUSTED_ORIGINS = environment.words("PLUMBLINE_TRUSTED_ORIGINS")
# A file, kept up to date by the operator, with the public keys (JWKS) that verify Prolific's signed study links.
PROLIFIC_KEYS = environment.text("PLUMBLINE_PROLIFIC_KEYS")
# X-Forwarded-For is believed only from these proxies; "unix" stands for a proxy that connects through a socket file.
TRUSTED_PROXIES = environment.networks("PLUMBLINE_TRUSTED_PROXIES", other=("unix",))

# BIND is the address on which the web server listens. `manage.py serve` sets the variable for the processes that it starts.
# For other servers the address is unknown unless the variable is set, and unknown does not count as loopback. A command in
# a shell does not listen. ON_LOOPBACK means that nobody else can reach this machine at its address or through a proxy.
BIND = environment.text("PLUMBLINE_BIND", "127.0.0.1" if environment.in_shell else "")
ON_LOOPBACK = (
    LOCAL
    and environment.is_loopback(BIND)
    and all(environment.is_loopback(host) for host in ALLOWED_HOSTS)
    and all(environment.is_loopback(urlsplit(origin).netloc) for origin in CSRF_TRUSTED_ORIGINS)
)
MODEL_HOSTS = environment.entries("PLUMBLINE_MODEL_HOSTS", read_hosts)
MODEL_KEYS = environment.entries("PLUMBLINE_MODEL_KEYS", read_keys)
SCRIPT_DIR = environment.folder_to_read("PLUMBLINE_SCRIPT_DIR", default=DATA_DIR / "scripts")

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "template_partials",
    "csp",
    "rest_framework",
    "drf_spectacular",
    "core",
    "accounts",
    "generation",
    "annotation",
    "calibration",
    "judging",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "core.web.htmx.HtmxResponseMiddleware",
    "core.web.unsent_forms.KeepFormMiddleware",
    "core.web.nul_characters.NoNulMiddleware",
    "core.web.busy_database.BusyDatabaseMiddleware",
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["core.templatetags.cutting"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "accounts.context.membership",
            ],
        },
    }
]

# The database is SQLite in the data folder unless DATABASE_URL names PostgreSQL.
DATABASE_URL = environment.url(
    "DATABASE_URL", schemes=("sqlite", "postgres", "postgresql"), default=f"sqlite:///{DATA_DIR / 'plumbline.sqlite3'}"
)
try:
    parsed = dj_database_url.parse(DATABASE_URL, conn_max_age=600, conn_health_checks=True)
except ValueError as error:
    raise ImproperlyConfigured(
        "DATABASE_URL is invalid; write it as postgres://user:password@host:5432/name, with special characters as %40."
    ) from error
DATABASES: dict[str, dict[str, Any]] = {"default": dict(parsed)}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["OPTIONS"] = {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA foreign_keys=ON;",
    }
else:
    # Statements of core.db.prepared are planned once per connection; other statements are not prepared.
    # If the server is unavailable, connecting fails after some seconds, so that the page can say so.
    DATABASES["default"]["OPTIONS"] = {
        "prepare_threshold": 0,
        "connect_timeout": 10,
        **DATABASES["default"].get("OPTIONS", {}),
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Messages to workers go through Redis if REDIS_URL names it, and otherwise through files in the data folder.
REDIS_URL = environment.url("REDIS_URL", schemes=("redis", "rediss"))
JOURNAL_DIR = DATA_DIR / "journal"
BROKER_DIR = DATA_DIR / "broker"
CELERY_BROKER_URL = REDIS_URL or "files://"
if REDIS_URL:
    # This is longer than any batch of work, so a task is not delivered twice while it runs.
    CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, object] = {"visibility_timeout": 3600}
else:
    BROKER_DIR.mkdir(parents=True, exist_ok=True)
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(BROKER_DIR),
        "data_folder_out": str(BROKER_DIR),
        "control_folder": str(DATA_DIR / "broker-control"),
        "polling_interval": 0.05,
    }
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TIMEZONE = "UTC"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
SWEEP_SECONDS = environment.integer("PLUMBLINE_SWEEP_SECONDS", default=60, minimum=1)
CELERY_BEAT_SCHEDULE = {
    "sweep-judge-runs": {"task": "judging.sweep", "schedule": SWEEP_SECONDS},
    "sweep-generation-runs": {"task": "generation.sweep", "schedule": SWEEP_SECONDS},
    "retain": {"task": "annotation.retain", "schedule": 3600},
}
# Days for which each kind is kept; 0 keeps it for ever.
RETAIN_DAYS = {
    "texts": environment.integer("PLUMBLINE_RETAIN_TEXTS_DAYS", default=0),
    "participants": environment.integer("PLUMBLINE_RETAIN_PARTICIPANTS_DAYS", default=0),
    "sign_ins": environment.integer("PLUMBLINE_RETAIN_SIGN_INS_DAYS", default=0),
    "drafts": environment.integer("PLUMBLINE_RETAIN_DRAFTS_DAYS", default=0),
}

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["accounts.signed_in.Accounts"]
SESSION_ENGINE = "accounts.signed_in"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "accounts:sign_in"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "accounts:sign_in"

# The languages of the interface, each under its own name; all except English have a catalogue in locale/.
LANGUAGES = [("en", "English"), ("zh-hans", "中文")]
LANGUAGE_CODE = environment.choice("PLUMBLINE_LANGUAGE", default="en", options=tuple(code for code, _name in LANGUAGES))
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "accounts.api.access.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["accounts.api.access.ReadsResults"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Plumbline",
    "DESCRIPTION": "Studies, answers, fits, runs and leaderboards for programs.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["accounts.api.access.ReadsResults"],
}

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = None if LOCAL else BASE_DIR / "staticfiles"
WHITENOISE_USE_FINDERS = LOCAL
if not LOCAL:
    STORAGES = {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
        "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
    }

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF, NONCE],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}
# The longest form is a rater's: a reason and quotations for each of 60 questions; encoded Chinese takes nine bytes per
# character.
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024
FILE_UPLOAD_HANDLERS = ["core.web.refused_requests.NoFiles"]
TABLE_EXPANSION = environment.integer("PLUMBLINE_TABLE_EXPANSION", default=200, minimum=1)
CSRF_FAILURE_VIEW = "core.web.unsent_forms.form_refused"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = not LOCAL
SECURE_SSL_REDIRECT = environment.boolean("PLUMBLINE_REDIRECT_TO_HTTPS", default=False)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if not LOCAL else None

LOG_LEVEL = environment.choice(
    "PLUMBLINE_LOG_LEVEL", default="warning", options=("debug", "info", "warning", "error", "critical")
)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "root": {"handlers": ["console"], "level": LOG_LEVEL.upper()},
}
