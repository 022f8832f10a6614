"""List, add, change, try and remove webhooks of a workspace, and send their messages again."""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.members.workspaces import workspace_for_command
from accounts.models import Webhook, WebhookDelivery, Workspace
from core.errors import UserError
from generation.webhooks.events import EventName
from generation.webhooks.subscriptions import add_webhook, change_webhook, remove_webhook, send_again, send_test

LISTED = 50


class Command(BaseCommand):
    help = "List, add, change, try and remove webhooks, show their latest messages, and send messages again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--workspace", default="", help="Slug of the workspace, if there are several.")
        verbs = parser.add_subparsers(dest="verb")
        verbs.add_parser("list", help="List the webhooks (also without a verb).")
        added = verbs.add_parser("add", help="Add a webhook and print its secret, once.")
        added.add_argument("url")
        changed = verbs.add_parser("change", help="Change a webhook.")
        changed.add_argument("id")
        changed.add_argument("--url")
        changed.add_argument("--on", action="store_const", const=True, dest="active", help="Switch it on.")
        changed.add_argument("--off", action="store_const", const=False, dest="active", help="Switch it off.")
        for one in (added, changed):
            one.add_argument("--events", nargs="+", help="Any of " + ", ".join(EventName.values) + ".")
        for verb, what in (
            ("remove", "Remove a webhook with its messages."),
            ("test", "Send a test message."),
            ("deliveries", "Show the latest messages of a webhook and what came of them."),
        ):
            verbs.add_parser(verb, help=what).add_argument("id", help="Id of the webhook.")
        verbs.add_parser("resend", help="Send a message again.").add_argument("id", help="Id of the message.")

    def handle(self, *args: Any, **options: Any) -> None:
        verb = options["verb"] or "list"
        verbs: dict[str, Callable[[Workspace, dict[str, Any]], None]] = {
            "list": self._list,
            "add": self._add,
            "change": self._change,
            "remove": self._remove,
            "test": self._test,
            "deliveries": self._deliveries,
            "resend": self._resend,
        }
        try:
            verbs[verb](workspace_for_command(options["workspace"]), options)
        except UserError as error:
            raise CommandError(str(error)) from error

    def _list(self, workspace: Workspace, _options: dict[str, Any]) -> None:
        for hook in workspace.webhooks.all():
            state = "on" if hook.active else "off"
            self.stdout.write(f"{hook.public_id}  {state:3}  {hook.url}  {', '.join(hook.events)}")

    def _add(self, workspace: Workspace, options: dict[str, Any]) -> None:
        events = EventName.values if options["events"] is None else options["events"]
        hook, secret = add_webhook(workspace=workspace, url=options["url"], events=events)
        self.stdout.write(f"Added {hook.public_id}. Its secret, which is not shown again: {secret}")

    def _change(self, workspace: Workspace, options: dict[str, Any]) -> None:
        hook = _hook(workspace, options["id"])
        change_webhook(hook, url=options["url"], events=options["events"], active=options["active"])
        self.stdout.write(f"Changed {hook.public_id}.")

    def _remove(self, workspace: Workspace, options: dict[str, Any]) -> None:
        remove_webhook(_hook(workspace, options["id"]))
        self.stdout.write(f"Removed {options['id']}.")

    def _test(self, workspace: Workspace, options: dict[str, Any]) -> None:
        delivery = send_test(_hook(workspace, options["id"]))
        self.stdout.write(f"A worker sends the message {delivery.public_id}.")

    def _deliveries(self, workspace: Workspace, options: dict[str, Any]) -> None:
        for row in _hook(workspace, options["id"]).deliveries.all()[:LISTED]:
            came = row.problem or (f"status {row.http_status}" if row.http_status else "")
            self.stdout.write(
                f"{row.public_id}  {row.made_at:%Y-%m-%d %H:%M}  {row.event}  {row.state}  attempts {row.attempts}  {came}"
            )

    def _resend(self, workspace: Workspace, options: dict[str, Any]) -> None:
        found = WebhookDelivery.objects.filter(webhook__workspace=workspace, public_id=options["id"])
        delivery = found.select_related("webhook").first()
        if delivery is None:
            raise CommandError(f"There is no message {options['id']!r} in workspace {workspace.slug}.")
        send_again(delivery)
        self.stdout.write(f"A worker sends the message {delivery.public_id} again.")


def _hook(workspace: Workspace, public_id: str) -> Webhook:
    hook = workspace.webhooks.filter(public_id=public_id).first()
    if hook is None:
        raise CommandError(
            f"There is no webhook {public_id!r} in workspace {workspace.slug}; list them without a verb."
        )
    return hook
