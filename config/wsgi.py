import os
from importlib import import_module

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
if settings.METRICS:
    from config.observability.processes import share_between_processes

    share_between_processes(settings.DATA_DIR)
application = get_wsgi_application()
# The statistics import it where they use it; a server loads it before its first page, so that no reader waits for it.
import_module("scipy.stats")
