"""Any sequence of create, read, update and delete with ETags behaves like a dictionary with versions."""

import itertools

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

IDS = st.sampled_from(["a", "b", "c"])
PRICES = st.floats(min_value=0.01, max_value=100, allow_nan=False)
_runs = itertools.count()


class Machine(RuleBasedStateMachine):
    """Drives the API beside a model of what it should hold."""

    client = None

    @initialize()
    def begin(self):
        self.prefix = f"run{next(_runs)}-"
        self.live = {}
        self.versions = {}
        self.changes = {}

    def address(self, name):
        return f"/v1/prices/{self.prefix}{name}"

    def noted(self, name, action):
        self.versions[name] = self.versions.get(name, 0) + 1
        self.changes.setdefault(name, []).append(action)

    @rule(name=IDS, price=PRICES)
    def create(self, name, price):
        form = {"id": self.prefix + name, "sku": "h100", "usd_per_gpu_hour": price}
        answer = self.client.post("/v1/prices", json=form)
        if name in self.live:
            assert answer.status_code == 409
            return
        assert answer.status_code == 201
        self.live[name] = price
        self.noted(name, "created")
        assert answer.headers["etag"] == f'"v{self.versions[name]}"'

    @rule(name=IDS, price=PRICES, back=st.integers(0, 2), whole=st.booleans())
    def update(self, name, price, back, whole):
        tag = {"If-Match": f'"v{self.versions.get(name, 1) - back}"'}
        body = {"usd_per_gpu_hour": price} | ({"sku": "h100"} if whole else {})
        answer = (self.client.put if whole else self.client.patch)(self.address(name), json=body, headers=tag)
        if name not in self.live:
            assert answer.status_code == 404
        elif back:
            assert answer.status_code == 412
        else:
            assert answer.status_code == 200
            self.live[name] = price
            self.noted(name, "updated")

    @rule(name=IDS, back=st.integers(0, 2))
    def delete(self, name, back):
        tag = {"If-Match": f'"v{self.versions.get(name, 1) - back}"'}
        answer = self.client.delete(self.address(name), headers=tag)
        if name not in self.live:
            assert answer.status_code == 404
        elif back:
            assert answer.status_code == 412
        else:
            assert answer.status_code == 204
            del self.live[name]
            self.noted(name, "deleted")

    @rule(name=IDS)
    def read(self, name):
        answer = self.client.get(self.address(name))
        if name not in self.live:
            assert answer.status_code == 404
            return
        assert (answer.json()["usd_per_gpu_hour"], answer.headers["etag"]) == (
            self.live[name], f'"v{self.versions[name]}"')

    @rule(name=IDS)
    def history(self, name):
        answer = self.client.get(self.address(name) + "/history")
        if name in self.changes:
            assert [line["action"] for line in answer.json()["items"]] == self.changes[name][::-1]
        else:
            assert answer.status_code == 404

    @invariant()
    def the_list_is_what_lives(self):
        if hasattr(self, "prefix"):
            items = self.client.get("/v1/prices", params={"q": self.prefix}).json()["items"]
            assert {item["id"] for item in items} == {self.prefix + name for name in self.live}


def drive(client, examples):
    machine = type("Driven", (Machine,), {"client": client})
    run_state_machine_as_test(machine, settings=settings(
        max_examples=examples, stateful_step_count=20, deadline=None, database=None,
        suppress_health_check=list(HealthCheck)))


def test_entries_live_by_the_rules(client):
    drive(client, 3)


@pytest.mark.slow
def test_entries_live_by_the_rules_for_long(client):
    drive(client, 60)
