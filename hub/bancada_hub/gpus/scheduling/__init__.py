"""Who gets which card, and when: pure decisions over frozen values.

    values      cards, requests, leases, the state and the decisions
    rules       limits, guarantees, weights, and when they hold
    waiting     the requests that wait, indexed so that no decision walks them all
    accounts    decayed use
    promises    what each guarantee needs, at each instant at which it needs it
    placement   which of the free cards
    order       who is next
    schedule    the decision
    events      what a decision, or somebody's click, makes of the state
    forecast    how long a wait may be
    why         what to tell somebody who waits
    preview     what a change of rules would do
    door        what is refused before it waits

Instants are seconds since 1970 (`_s`), amounts of cards in limits and use are thousandths (`_milli`): a MIG instance or
a place on a shared card is less than one.
"""
