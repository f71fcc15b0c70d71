"""What every handler of the console shares."""

from dataclasses import dataclass, field

from jinja2 import Environment
from jupyterhub.services.auth import HubOAuth

from bancada_hub.console.examination import Outcome
from bancada_hub.console.gpu_queue import GpuQueue
from bancada_hub.console.gpu_watch import GpuWatch
from bancada_hub.console.hub import HubClient
from bancada_hub.console.server_api.reports import Reports
from bancada_hub.console.shared import Shared
from bancada_hub.console.starts import Starts
from bancada_hub.console.vouched import Vouched
from bancada_hub.gpus.inventory import Inventory
from bancada_hub.launch.context import LaunchContext


@dataclass(frozen=True)
class Context:
    """A running console.

    Args:
        launch: The site, its database, and what a plan needs.
        hub: The hub's REST.
        starts: Starts under way.
        sign_in: The hub's sign-in for this service.
        environment: The pages' templates.
        examination: The doctor's checks.
        cards: The machine's.
        queue: The GPU queue.
        watch: The cards' health.
        vouched: What is kept of the hub's answers to who asks.
        reports: What servers reported last.
        demo: Whether this is the throw-away site of `bancada demo`.
    """

    launch: LaunchContext
    hub: HubClient
    starts: Starts
    sign_in: HubOAuth
    environment: Environment
    examination: Shared[Outcome]
    cards: Shared[Inventory]
    vouched: Vouched
    queue: GpuQueue
    watch: GpuWatch
    reports: Reports = field(default_factory=Reports)
    demo: bool = False
