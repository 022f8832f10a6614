"""Settings, read once from environment variables, which docs/operations.md lists."""

import os
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dj_database_url
from csp.constants import NONCE, NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from kombu.entity import Queue

from config import environment, identity, places
from config.observability.logs import logging_settings
from generation.llm.protocol.allowed_hosts import read_hosts, read_keys
from generation.llm.protocol.providers import read_providers

# What Plumbline writes holds answers and identities: files are made with mode 0600 and folders with 0700.
os.umask(0o077)

BASE_DIR = Path(__file__).resolve().parent.parent
# How a command is called in the sentences that name one.
PROGRAM = "manage.py" if places.in_checkout(BASE_DIR) else places.NAME
MODE = environment.choice("PLUMBLINE_MODE", default="local", options=("local", "production"))
LOCAL = MODE == "local"
DEBUG = environment.boolean("PLUMBLINE_DEBUG", default=False)
DATA_DIR = environment.folder("PLUMBLINE_DATA_DIR", default=places.own_data_folder(BASE_DIR))

LOCAL_KEY = "for-one-machine-only-" + "0" * 40
SECRET_KEY = environment.secret("PLUMBLINE_SECRET_KEY", default=LOCAL_KEY if LOCAL else "")
ALLOWED_HOSTS = environment.words(
    "PLUMBLINE_ALLOWED_HOSTS", default=("localhost", "127.0.0.1", "[::1]") if LOCAL else ()
)
if not LOCAL and (not ALLOWED_HOSTS or DEBUG):
    raise ImproperlyConfigured("In production mode, set PLUMBLINE_ALLOWED_HOSTS and turn PLUMBLINE_DEBUG off.")
CSRF_TRUSTED_ORIGINS = environment.words("PLUMBLINE_TRUSTED_ORIGINS")
# A file, kept up to date by the operator, with the public keys (JWKS) that verify Prolific's signed study links.
PROLIFIC_KEYS = environment.text("PLUMBLINE_PROLIFIC_KEYS")
# The operator's token for Prolific's API, and the API's address, which leads cannot change.
PROLIFIC_TOKEN = environment.text("PLUMBLINE_PROLIFIC_TOKEN")
PROLIFIC_API = environment.url(
    "PLUMBLINE_PROLIFIC_API", schemes=("https", "http") if LOCAL else ("https",), default="https://api.prolific.com"
).rstrip("/")
# The most that leads may send as bonuses in one study, in whole units of its currency; 0 turns bonuses off.
BONUS_CAP = environment.integer("PLUMBLINE_BONUS_CAP", default=0)
# Invitations by e-mail that the leads of a workspace may send in a day, and that this server sends in a minute.
MAILS_A_DAY = environment.integer("PLUMBLINE_MAILS_A_DAY", default=500)
MAILS_A_MINUTE = environment.integer("PLUMBLINE_MAILS_A_MINUTE", default=30, minimum=1)
# X-Forwarded-For and X-Forwarded-Proto are believed only from these proxies; "unix" stands for one that connects through a
# socket file.
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
# What is known of hosted providers; a file of the operator adds to it.
PROVIDERS = environment.files_read(
    "PLUMBLINE_PROVIDERS", read_providers, first=BASE_DIR / "fixtures" / "providers" / "providers.json"
)
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
    "config",
]
MIDDLEWARE = [
    "config.observability.requests.RequestMiddleware",
    "accounts.sign_in.forwarded_scheme.ForwardedSchemeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "accounts.sign_in.middleware.SignInMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "core.web.htmx.HtmxResponseMiddleware",
    "core.web.unsent_forms.KeepFormMiddleware",
    "core.web.nul_characters.NoNulMiddleware",
    "accounts.api.headers.ApiHeadersMiddleware",
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
# What a pooler between Plumbline and PostgreSQL keeps for one client: its session, or no more than its transaction. In the
# second case nothing may outlive a transaction: no prepared statement, no cursor and no setting.
DATABASE_POOLER = environment.choice("PLUMBLINE_DATABASE_POOLER", default="session", options=("session", "transaction"))
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
        "prepare_threshold": None if DATABASE_POOLER == "transaction" else 0,
        "connect_timeout": 10,
        **DATABASES["default"].get("OPTIONS", {}),
    }
    DATABASES["default"]["DISABLE_SERVER_SIDE_CURSORS"] = DATABASE_POOLER == "transaction"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Messages to workers go through the broker that CELERY_BROKER_URL names (REDIS_URL is the older name of the variable), and
# otherwise through files in the data folder.
REDIS_URL = environment.url("REDIS_URL", schemes=("redis", "rediss"))
CELERY_BROKER_URL = environment.url("CELERY_BROKER_URL", schemes=environment.BROKERS) or REDIS_URL or "files://"
JOURNAL_DIR = DATA_DIR / "journal"
BROKER_DIR = DATA_DIR / "broker"
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, object] = {}
if CELERY_BROKER_URL == "files://":
    BROKER_DIR.mkdir(parents=True, exist_ok=True)
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(BROKER_DIR),
        "data_folder_out": str(BROKER_DIR),
        "control_folder": str(DATA_DIR / "broker-control"),
        # Each worker looks through the folder this often, which at 0.05 takes 5 % of a core.
        "polling_interval": 0.2,
    }
elif "redis" in CELERY_BROKER_URL or CELERY_BROKER_URL.startswith("sentinel"):
    # This is longer than any batch of work, so a task is not delivered twice while it runs.
    CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 3600}
# A worker takes messages of every queue, or with -Q of some. Long work stands in queues of its own, so that a report does
# not hold up runs, nor a run reports, nor both the sweeps that keep runs going.
RUNS, REPORTS, SWEEPS = "runs", "reports", "sweeps"
CELERY_TASK_QUEUES = [Queue(name, routing_key=name) for name in (RUNS, REPORTS, SWEEPS)]  # type: ignore[no-untyped-call]
CELERY_TASK_DEFAULT_QUEUE = CELERY_TASK_DEFAULT_ROUTING_KEY = SWEEPS
CELERY_TASK_ROUTES = {
    "generation.work": {"queue": RUNS},
    "judging.work": {"queue": RUNS},
    "judging.try_prompt": {"queue": RUNS},
    "annotation.load_table": {"queue": REPORTS},
    "annotation.scan_self_naming": {"queue": REPORTS},
    "calibration.build_report": {"queue": REPORTS},
    "generation.curate": {"queue": REPORTS},
    "generation.send_webhooks": {"queue": REPORTS},
    "calibration.fit_study": {"queue": REPORTS},
    "judging.build_report": {"queue": REPORTS},
    "judging.compute_judge_tables": {"queue": REPORTS},
    "judging.build_paper_table": {"queue": REPORTS},
    "judging.compare": {"queue": REPORTS},
    "judging.load_upload": {"queue": REPORTS},
    "judging.load_archive": {"queue": REPORTS},
    "judging.make_file": {"queue": REPORTS},
    "judging.make_demonstration": {"queue": REPORTS},
    "annotation.count_desk": {"queue": SWEEPS},
    "annotation.launch": {"queue": SWEEPS},
    "annotation.retain": {"queue": SWEEPS},
    "annotation.send_mails": {"queue": SWEEPS},
    "annotation.sweep_prolific": {"queue": REPORTS},
    "calibration.sweep": {"queue": SWEEPS},
    "core.send_waiting": {"queue": SWEEPS},
    "generation.sweep": {"queue": SWEEPS},
    "judging.sweep": {"queue": SWEEPS},
}
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TIMEZONE = "UTC"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# Workers look for the broker as long as it takes; what a page asks for is sent once and is in a row besides.
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_TASK_PUBLISH_RETRY = False
# A worker that comes back to its broker takes as many messages as before: with a reduced number, the message of the run
# on which it is still at work, delivered again, would keep all others from it.
CELERY_WORKER_ENABLE_PREFETCH_COUNT_REDUCTION = False
# Megabytes that a worker may hold; one that holds more finishes what it has and ends, to be started again. 0 is no limit.
WORKER_MEMORY = environment.integer("PLUMBLINE_WORKER_MEMORY", default=2048)
SWEEP_SECONDS = environment.integer("PLUMBLINE_SWEEP_SECONDS", default=60, minimum=1)
CELERY_BEAT_SCHEDULE = {
    "sweep-judge-runs": {"task": "judging.sweep", "schedule": SWEEP_SECONDS},
    "sweep-generation-runs": {"task": "generation.sweep", "schedule": SWEEP_SECONDS},
    "sweep-reports": {"task": "calibration.sweep", "schedule": SWEEP_SECONDS},
    "send-waiting-tasks": {"task": "core.send_waiting", "schedule": SWEEP_SECONDS},
    "send-mails": {"task": "annotation.send_mails", "schedule": SWEEP_SECONDS},
    "sweep-prolific": {"task": "annotation.sweep_prolific", "schedule": 5 * SWEEP_SECONDS},
    "retain": {"task": "annotation.retain", "schedule": 3600},
}
# Days for which each kind is kept; 0 keeps it for ever.
RETAIN_DAYS = {
    "texts": environment.integer("PLUMBLINE_RETAIN_TEXTS_DAYS", default=0),
    "participants": environment.integer("PLUMBLINE_RETAIN_PARTICIPANTS_DAYS", default=0),
    "sign_ins": environment.integer("PLUMBLINE_RETAIN_SIGN_INS_DAYS", default=0),
    "drafts": environment.integer("PLUMBLINE_RETAIN_DRAFTS_DAYS", default=0),
}

# Days for which messages to webhooks are kept, and what their receivers answered.
WEBHOOK_DAYS = environment.integer("PLUMBLINE_WEBHOOK_DAYS", default=30, minimum=1)

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["accounts.signed_in.Accounts"]
SESSION_ENGINE = "accounts.signed_in"
PASSWORD_HASHERS = ["accounts.sign_in.hashing.BoundedHasher"]
PASSWORD_HASHINGS = environment.integer(
    "PLUMBLINE_PASSWORD_HASHINGS", default=max(1, (os.cpu_count() or 1) // 2), minimum=1
)
HASHING_DIR = DATA_DIR / "hashing"
# Failed attempts that are allowed in the window, see accounts/sign_in/limit.py.
SIGN_IN_WINDOW = timedelta(minutes=environment.integer("PLUMBLINE_SIGN_IN_MINUTES", default=15, minimum=1))
SIGN_IN_LIMITS = {
    "visitor": environment.integer("PLUMBLINE_SIGN_IN_FAILURES", default=10, minimum=1),
    "device": environment.integer("PLUMBLINE_SIGN_IN_FAILURES_KNOWN_BROWSER", default=10, minimum=1),
    "account": environment.integer("PLUMBLINE_SIGN_IN_FAILURES_ACCOUNT", default=100, minimum=1),
    "address": environment.integer("PLUMBLINE_SIGN_IN_FAILURES_ADDRESS", default=200, minimum=1),
    "token": environment.integer("PLUMBLINE_TOKEN_FAILURES", default=30, minimum=1),
}
DEVICE_COOKIE_AGE = timedelta(days=environment.integer("PLUMBLINE_DEVICE_COOKIE_DAYS", default=180, minimum=1))
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
    "DEFAULT_PARSER_CLASSES": ["accounts.api.bodies.JsonBody"],
    "DEFAULT_THROTTLE_CLASSES": ["accounts.api.rates.TokenRate"],
    "DEFAULT_SCHEMA_CLASS": "accounts.api.schema.ScopedSchema",
}
# Requests that an API token may send in a minute; 0 sets no limit.
API_RATE = environment.integer("PLUMBLINE_API_RATE", default=600)
# Days after which an API token expires unless its owner chooses otherwise, and the most that they may choose.
TOKEN_DAYS_MOST = environment.integer("PLUMBLINE_TOKEN_DAYS_MOST", default=365, minimum=1)
TOKEN_DAYS = environment.integer("PLUMBLINE_TOKEN_DAYS", default=min(90, TOKEN_DAYS_MOST), minimum=1)
if TOKEN_DAYS > TOKEN_DAYS_MOST:
    raise ImproperlyConfigured(
        f"PLUMBLINE_TOKEN_DAYS={TOKEN_DAYS} exceeds PLUMBLINE_TOKEN_DAYS_MOST={TOKEN_DAYS_MOST}; lower the first or "
        "raise the second."
    )
SPECTACULAR_SETTINGS = {
    "TITLE": "Plumbline",
    "DESCRIPTION": "Studies, answers, fits, runs and leaderboards for programs.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "ENUM_NAME_OVERRIDES": {
        "StudyKind": "annotation.models.Study.Kind",
        "StudyStatus": "annotation.models.Study.Status",
        "RunStatus": "generation.models.GenerationRun.Status",
        "ResponseKind": "generation.models.Response.Kind",
        "FitKind": "calibration.models.Fit.Kind",
        "CohortKind": "annotation.models.Cohort.Kind",
        "TaskKind": "annotation.models.Task.Kind",
        "JobKind": "judging.api.jobs.KINDS_OF_JOB",
        "ExportKind": "judging.archive.made_files.KINDS",
        "RaterKind": "annotation.models.Rater.Kind",
        "EndpointKind": "generation.models.Endpoint.Kind",
        "OfferedScale": "annotation.api.questions.SCALES",
        "ChecklistScale": "annotation.models.Checklist.Scale",
        "SelfNamingDecision": "annotation.api.self_naming.DECISIONS",
        "CurationDecision": "generation.web.curation.api.DECISIONS",
        "StandingState": "annotation.models.Standing.State",
        "BrowserRequestState": "annotation.models.BrowserRequest.State",
        "MailState": "annotation.models.MailedInvitation.State",
        "BonusState": "annotation.models.BonusBatch.State",
        "MemberRole": "accounts.models.Membership.Role",
        "GivenRole": "accounts.members.api.GIVEN_ROLES",
    },
}

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = None if LOCAL else places.static_folder(BASE_DIR, DATA_DIR)
WHITENOISE_USE_FINDERS = LOCAL
if not LOCAL:
    STORAGES = {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
        # Static files are public: a proxy that runs as another user may serve them.
        "staticfiles": {
            "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage",
            "OPTIONS": {"file_permissions_mode": 0o644, "directory_permissions_mode": 0o755},
        },
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
# Bytes that a lead may upload at once, as an archive of a benchmark's files; 0 turns uploads off.
UPLOAD_MOST = 1024 * 1024 * environment.integer("PLUMBLINE_UPLOAD_MB", default=500)
# Bytes that a program may send as rows in one request of the API.
API_ROWS_MOST = 1024 * 1024 * environment.integer("PLUMBLINE_API_ROWS_MB", default=32, minimum=1)
TABLE_EXPANSION = environment.integer("PLUMBLINE_TABLE_EXPANSION", default=200, minimum=1)
CSRF_FAILURE_VIEW = "core.web.unsent_forms.form_refused"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = not LOCAL
SECURE_SSL_REDIRECT = environment.boolean("PLUMBLINE_REDIRECT_TO_HTTPS", default=not LOCAL)
# A load balancer asks for the health of one process, without TLS.
SECURE_REDIRECT_EXEMPT = [r"^health/"]
# ForwardedSchemeMiddleware sets this, for listed proxies only; it is no header, so no client can send it.
SECURE_PROXY_SSL_HEADER = ("plumbline.scheme", "https")
# An hour at first: browsers refuse HTTP for this long, also if HTTPS breaks in the meantime.
SECURE_HSTS_SECONDS = environment.integer("PLUMBLINE_HSTS_SECONDS", default=0 if LOCAL else 3600)
# W005 and W021 ask for HSTS on all subdomains and in the list that browsers ship. Both bind hosts beside Plumbline, and
# leaving the list takes months: that is for the owner of the domain to decide, who can add both at the proxy.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]

# Optional ways to prove who one is. Off, none of their code is imported; on, run `manage.py migrate` once.
IDENTITY = identity.read(local=LOCAL)
if IDENTITY:
    INSTALLED_APPS += identity.apps_of(IDENTITY)
    MIDDLEWARE += identity.middleware_of(IDENTITY)
    globals().update(identity.settings_of(IDENTITY, redis_url=REDIS_URL, data_dir=DATA_DIR))

LOG_LEVEL = environment.choice(
    "PLUMBLINE_LOG_LEVEL", default="warning", options=("debug", "info", "warning", "error", "critical")
)
LOG_FORMAT = environment.choice("PLUMBLINE_LOG_FORMAT", default="lines", options=("lines", "json"))
ACCESS_LOG = environment.boolean("PLUMBLINE_ACCESS_LOG", default=not LOCAL)
LOGGING = logging_settings(level=LOG_LEVEL, as_json=LOG_FORMAT == "json", access_log=ACCESS_LOG)

# Metrics for Prometheus are at /metrics for whoever brings the token or comes from an allowed address; without either, there
# is no such page. SENTRY_DSN names a Sentry project that faults are reported to, if its package is installed.
METRICS_TOKEN = environment.text("PLUMBLINE_METRICS_TOKEN")
if METRICS_TOKEN and len(METRICS_TOKEN) < 20:
    raise ImproperlyConfigured("PLUMBLINE_METRICS_TOKEN is too short; set it to a secret of at least 20 characters.")
METRICS_FROM = environment.networks("PLUMBLINE_METRICS_FROM")
METRICS = bool(METRICS_TOKEN or METRICS_FROM)
# Megabytes below which the disk of the data folder counts as full: paused runs wait, and /health/ready/ says so.
DISK_FREE = environment.integer("PLUMBLINE_DISK_FREE", default=100)
if SENTRY_DSN := environment.text("SENTRY_DSN"):
    from config.observability import reporting

    reporting.begin(SENTRY_DSN)

environment.refuse_unknown(Path(__file__), Path(identity.__file__))
