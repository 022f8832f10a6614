import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
if settings.METRICS:
    from config.observability.processes import share_between_processes

    share_between_processes(settings.DATA_DIR)
application = get_wsgi_application()
