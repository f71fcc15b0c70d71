"""What the reconciler decides, for any state: nothing live goes, nothing of another site, and once is enough."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bancada_hub.launch.reconcile import Action, Kind, Known, Seen, Thing, decide

SITE, OTHER = "0123abcd", "89abcdef"
BRIDGE = f"bancada-{SITE}"
STARTS = st.sampled_from([f"{number:012x}" for number in range(8)])
SETS = st.frozensets(STARTS)


@st.composite
def things(draw: st.DrawFn, kind: str, *, runs: bool = False) -> tuple[Thing, ...]:
    found = draw(st.lists(st.tuples(st.sampled_from([SITE, OTHER]), STARTS, st.booleans()), max_size=8))
    return tuple(Thing(f"{kind}{n}", site, start, up and runs) for n, (site, start, up) in enumerate(found))


@st.composite
def names(draw: st.DrawFn) -> frozenset[str]:
    return frozenset(f"bancada-{site}-{uid}-2" for site, uid in draw(st.sets(st.tuples(SITES, st.integers(1, 4)))))


SITES = st.sampled_from([SITE, OTHER])
NETWORKS = st.sets(st.tuples(st.sampled_from([BRIDGE, f"bancada-{OTHER}", "left"]), SITES), max_size=4)
SEEN = st.builds(
    Seen,
    site_id=st.just(SITE),
    known=st.builds(Known, starts=SETS, up=SETS, names=names()),
    has_engine=st.booleans(),
    containers=things("c", runs=True),
    volumes=things("v"),
    networks=NETWORKS.map(lambda found: tuple(Thing(name, site) for name, site in sorted(found))),
    processes=names(),
    holding=SETS,
    outside=SETS,
)


def after(seen: Seen, actions: tuple[Action, ...]) -> Seen:
    """Return what is seen once everything is done: a server that was looked at or stopped is up no more."""
    of = {kind: {action.subject for action in actions if action.kind is kind} for kind in Kind}
    networks = [thing for thing in seen.networks if (thing.id not in of[Kind.REMOVE_NETWORK] or thing.site_id != SITE)]
    networks += [Thing(name, SITE) for name in of[Kind.MAKE_NETWORK]]
    return replace(
        seen,
        containers=tuple(thing for thing in seen.containers if thing.id not in of[Kind.REMOVE_CONTAINER]),
        volumes=tuple(thing for thing in seen.volumes if thing.id not in of[Kind.REMOVE_VOLUME]),
        networks=tuple(networks),
        processes=seen.processes - of[Kind.END_PROCESSES],
        holding=seen.holding - of[Kind.RELEASE],
        known=replace(seen.known, up=seen.known.up - of[Kind.LOOK] - of[Kind.STOP]),
    )


@given(SEEN)
def test_once_is_enough(seen: Seen) -> None:
    assert decide(after(seen, decide(seen))) == ()


@given(SEEN)
def test_nothing_that_a_known_start_has_is_taken(seen: Seen) -> None:
    """D18: a start under way is known by its id, however young or old what it made is."""
    hub_only = {Kind.LOOK, Kind.STOP}
    assert not {a.start_id for a in decide(seen) if a.kind not in hub_only and a.start_id} & seen.known.starts
    assert not {a.subject for a in decide(seen) if a.kind is Kind.END_PROCESSES} & seen.known.names


@given(SEEN)
def test_nothing_of_another_site_is_touched(seen: Seen) -> None:
    foreign = {thing.id for thing in (*seen.containers, *seen.volumes) if thing.site_id == OTHER}
    done = decide(seen)
    assert not foreign & {action.subject for action in done}
    assert all(action.subject.startswith(f"{BRIDGE}-") for action in done if action.kind is Kind.END_PROCESSES)


@given(SEEN)
def test_everything_of_no_known_start_goes(seen: Seen) -> None:
    """D4, D18: what a killed hub left is found by its label, with what it held."""
    done = {action.subject for action in decide(seen)}
    lost = [t for t in (*seen.containers, *seen.volumes) if t.site_id == SITE and t.start_id not in seen.known.starts]
    assert {thing.id for thing in lost} <= done
    assert seen.holding - seen.known.starts <= done


def test_a_container_removed_behind_our_back_is_looked_at_and_an_outsiders_server_is_stopped() -> None:
    known = Known(frozenset({"a", "b", "c"}), frozenset({"a", "b"}))
    running = (Thing("c1", SITE, "b", running=True),)
    seen = Seen(SITE, known, containers=running, networks=(Thing(BRIDGE, SITE),), outside=frozenset({"b", "c"}))
    assert decide(seen) == (Action(Kind.LOOK, "a", "a"), Action(Kind.STOP, "b", "b"))
