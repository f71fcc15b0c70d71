"""The container engine that is there: found, told apart from one that is missing or silent, and reached."""

import errno
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import docker
import requests
from docker.errors import APIError, DockerException
from docker.utils import kwargs_from_env

from bancada_hub.errors import EngineError, Told, told
from bancada_hub.host import daemon

DEFAULT_HOST = "unix:///var/run/docker.sock"
HOST_VARIABLE = "DOCKER_HOST"
ANSWER_WITHIN_S = 10
END_IT = told("End it, then run the same command again: kill -9 $(cat /var/run/docker.pid)")


class EngineMissing(EngineError):  # noqa: N818 - an outcome that callers tell apart, not a fault
    """Nothing listens where the engine should be."""


class EngineSilent(EngineError):  # noqa: N818 - an outcome that callers tell apart, not a fault
    """Something listens where the engine should be, and does not answer."""


@dataclass(frozen=True)
class Engine:
    """An engine that answered.

    Args:
        host: Its address, as in DOCKER_HOST.
        version: Its release.
        api_version: The newest API that it speaks.
        cgroup_version: "1" or "2".
        storage_driver: How it keeps images, such as "overlay2".
        root_dir: Its data directory, a path on its machine.
        name: The name of its machine.
        id: Its identity, which survives restarts.
    """

    host: str
    version: str
    api_version: str
    cgroup_version: str
    storage_driver: str
    root_dir: str
    name: str
    id: str


def client(engine: Engine, timeout_s: int = 60) -> docker.DockerClient:
    """Return a client of the engine; the caller closes it.

    Args:
        engine: An engine that was found.
        timeout_s: How long one answer may take before the call fails.
    """
    return docker.DockerClient(base_url=engine.host, version=engine.api_version, timeout=timeout_s, **_tls(engine.host))


def connect(host: str, timeout_s: int = 60) -> docker.DockerClient:
    """Return a client of the engine at an address that was kept from an earlier `find_engine`; the caller closes it.

    Raises:
        EngineMissing: Nothing listens there.
        EngineSilent: Something listens there and does not answer.
    """
    if host.startswith("unix://"):
        _check_socket(host, ANSWER_WITHIN_S)
    try:
        return docker.DockerClient(base_url=host, version="auto", timeout=timeout_s, **_tls(host))
    except (DockerException, requests.RequestException) as error:
        raise _from_client(host, timeout_s, error) from error


def engine_address(environment: Mapping[str, str]) -> str:
    """Return where the engine is reached: DOCKER_HOST, or the usual socket."""
    return environment.get(HOST_VARIABLE) or DEFAULT_HOST


def find_engine(timeout_s: int = ANSWER_WITHIN_S, host: str | None = None) -> Engine:
    """Return the engine that answers.

    Args:
        timeout_s: How long one answer may take.
        host: Its address; DOCKER_HOST or the usual socket by default.

    Raises:
        EngineMissing: Nothing listens at its address.
        EngineSilent: Something listens there and does not answer in time.
        EngineError: What answers is no engine, or this user may not use it.
    """
    host = host or engine_address(os.environ)
    if host.startswith("unix://"):
        _check_socket(host, timeout_s)
    try:
        with_version = docker.DockerClient(base_url=host, version="auto", timeout=timeout_s, **_tls(host))
        try:
            return describe(host, with_version.version(), with_version.info())
        finally:
            with_version.close()
    except requests.Timeout as error:
        raise _silent(host, timeout_s) from error
    except (DockerException, requests.RequestException) as error:
        raise _from_client(host, timeout_s, error) from error


def describe(host: str, version: Mapping[str, Any], info: Mapping[str, Any]) -> Engine:
    """Return an engine's description from its answers to /version and /info."""
    return Engine(
        host=host,
        version=str(version.get("Version", "")),
        api_version=str(version.get("ApiVersion", "")),
        cgroup_version=str(info.get("CgroupVersion") or "1"),
        storage_driver=str(info.get("Driver", "")),
        root_dir=str(info.get("DockerRootDir", "")),
        name=str(info.get("Name", "")),
        id=str(info.get("ID", "")),
    )


def _check_socket(host: str, timeout_s: int) -> None:
    """Connect to the engine's socket once: what the system says is clearer than what a client makes of it."""
    path = host.removeprefix("unix://")
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(timeout_s)
        try:
            connection.connect(path)
        except TimeoutError as error:
            raise _silent(host, timeout_s) from error
        except PermissionError as error:
            what = told("This user may not use the container engine's socket %(path)s.", path=path)
            raise EngineError(what, fix=told("Run it as root: sudo ./bancada …")) from error
        except OSError as error:
            why = {
                errno.ENOENT: told("there is no such socket"),
                errno.ECONNREFUSED: told("the socket is left over: nothing listens on it"),
            }.get(error.errno or 0, os.strerror(error.errno or 0))
            what = told("No container engine at %(place)s: %(why)s.", place=path, why=why)
            raise EngineMissing(what, fix=_start_it(host)) from error


def _start_it(host: str) -> Told:
    """Return how to get an engine where there is none."""
    if host != DEFAULT_HOST:
        return told("Start that engine, or unset %(variable)s to use this machine's own.", variable=HOST_VARIABLE)
    return told("Let Bancada install and start one: ./bancada up")


def _silent(host: str, timeout_s: int) -> EngineSilent:
    """Return the error for an engine that is there and does not answer."""
    if host != DEFAULT_HOST:
        fix = told("Restart that engine, or unset %(variable)s to use this machine's own.", variable=HOST_VARIABLE)
    elif daemon.has_systemd():
        fix = told("Restart it: systemctl restart docker\nIts log: journalctl --unit docker")
    else:
        fix = END_IT
    words = {"place": host.removeprefix("unix://"), "n": timeout_s}
    what = told("A container engine is at %(place)s, but it did not answer within %(n)s s.", **words)
    return EngineSilent(what, fix=fix)


def _from_client(host: str, timeout_s: int, error: Exception) -> EngineError:
    """Translate a client's error; the client wraps a time-out more than once."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, requests.Timeout):
            return _silent(host, timeout_s)
        if isinstance(cause, ConnectionRefusedError | FileNotFoundError) or "Connection refused" in str(cause):
            what = told("No container engine at %(place)s: nothing listens there.", place=host)
            return EngineMissing(what, fix=_start_it(host))
        cause = cause.__cause__ or cause.__context__
    said = error.explanation if isinstance(error, APIError) else str(error)
    words = {"place": host, "why": said}
    what = told("What answers at %(place)s is not a container engine that Bancada can use: %(why)s", **words)
    return EngineError(what, fix=_start_it(host))


def _tls(host: str) -> dict[str, Any]:
    """Return the client's certificates for an engine that is reached by TCP, from DOCKER_CERT_PATH."""
    if host.startswith("unix://"):
        return {}
    return {key: value for key, value in kwargs_from_env().items() if key == "tls"}
