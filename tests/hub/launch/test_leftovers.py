"""`bancada down` on a real engine: the site goes, and what is in the way is told in a sentence."""

import os
import subprocess
import sys
from collections.abc import Iterator

import docker
import pytest
from docker.errors import NotFound

from bancada_hub.installation import Facts, keep_facts
from bancada_hub.launch import leftovers
from bancada_hub.launch.names import SITE_LABEL
from tests.hub.launch.conftest import SITE_ID, Spawn, Stage

STRANGER = "somebody-elses"


@pytest.fixture
def attached(stage: Stage, image: str) -> Iterator[list[str]]:
    """Ids of running containers on the site's bridge, one of the site and one of somebody else."""
    made = []
    for name, labels in ((STRANGER, {}), ("of-the-site", {SITE_LABEL: SITE_ID})):
        container = run_on_bridge(stage, image, name, labels)
        made.append(container)
    yield made
    for container in made:
        try:
            stage.client.api.remove_container(container, force=True)
        except NotFound:
            continue


def run_on_bridge(stage: Stage, image: str, name: str, labels: dict[str, str]) -> str:
    tree = {str(stage.server_tree): {"bind": "/opt/bancada", "mode": "ro"}}
    made = stage.client.containers.run(
        image,
        ["/opt/bancada/bin/python"],
        name=name,
        labels=labels,
        network=stage.context.network,
        volumes=tree,
        detach=True,
    )
    made.reload()
    assert made.status == "running"
    return str(made.id)


def down(stage: Stage) -> subprocess.CompletedProcess[str]:
    """Run the real command on the stage's site."""
    stage.places.settings_file.write_text('engine = "docker"\nport = 61236\n')
    network = stage.client.networks.get(stage.context.network)
    pool = network.attrs["IPAM"]["Config"][0]
    bridge = network.attrs["Options"]["com.docker.network.bridge.name"]
    facts = Facts(SITE_ID, stage.context.engine_host, stage.context.network, pool["Gateway"], pool["Subnet"], bridge)
    keep_facts(stage.places, facts)
    command = [sys.executable, "-m", "bancada.cli", "down", "--data", str(stage.places.data)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))


async def test_down_goes_on_around_a_strange_container_on_the_bridge(
    stage: Stage, spawner: Spawn, attached: list[str]
) -> None:
    await spawner().start()
    done = down(stage)
    assert done.returncode == 1
    assert "Traceback" not in done.stdout + done.stderr
    assert "1 stopped" in done.stdout
    network = stage.context.network
    sentence = f"The bridge {network} stays: the container {STRANGER} is attached to it, which is not of this site."
    assert sentence in done.stdout, done.stdout + done.stderr
    assert stage.leftovers() == []
    assert stage.client.api.inspect_container(attached[0])["State"]["Running"], "what is not ours is left alone"
    stage.client.api.disconnect_container_from_network(STRANGER, network, force=True)
    again = down(stage)
    assert again.returncode == 0, again.stdout + again.stderr
    with pytest.raises(NotFound):
        stage.client.networks.get(network)
    stage.client.networks.create(network)  # what the stage's end removes


def test_an_endpoint_of_the_site_is_cut_off(stage: Stage, attached: list[str]) -> None:
    stage.client.api.remove_container(attached[0], force=True)
    taken = leftovers.TakenOut()
    leftovers._remove_bridge(stage.client, SITE_ID, taken)
    assert taken.staying == []
    with pytest.raises(NotFound):
        stage.client.networks.get(stage.context.network)
    stage.client.networks.create(stage.context.network)


def test_a_volume_in_use_is_told_and_the_rest_goes(
    stage: Stage, image: str, engine_client: docker.DockerClient
) -> None:
    volume = engine_client.volumes.create("in-use", labels={SITE_LABEL: SITE_ID})
    user = engine_client.containers.create(image, ["/x"], volumes={"in-use": {"bind": "/tmp", "mode": "rw"}})
    taken = leftovers.remove_servers(stage.client, SITE_ID)
    (sentence,) = taken.staying
    assert sentence.startswith("The volume in-use stays: ")
    assert not taken.servers_stay
    with pytest.raises(NotFound):
        stage.client.networks.get(stage.context.network)
    stage.client.networks.create(stage.context.network)
    user.remove(force=True)
    volume.remove()
