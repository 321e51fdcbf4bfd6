"""The console in a real browser, both roles from link to model; and its pages without one."""

from __future__ import annotations

import json
import re
import time
from contextlib import contextmanager
from dataclasses import asdict, replace

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe

from houses import ADA, OLGA, SCHEMA, hurried, make_house, serving
from privet import Budget
from privet.service import jobs, members, people, tables
from privet.service.who import OFFICER, ROLES, Who
from tests.servers.browser import started

pytestmark = pytest.mark.xdist_group("console")

HOSTILE = '<script>alert("x")</script>'
PATHS = (
    "/",
    "/jobs",
    "/models",
    "/people",
    "/people/patients",
    "/tables/visits",
    "/tables/visits/plan",
    "/tokens",
)
OWNED = ("/approvals", "/audit", "/members", "/verify")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    house = make_house(tmp_path_factory.mktemp("house"), rules={"approval_above": "0.25"})
    with serving(house) as house.address, hurried(house):
        yield house


@pytest.fixture(scope="module")
def browser():
    with started() as running:
        yield running


def link(house, who):
    return f"{house.address}/enter/{members.make_link(house, members.CONSOLE, who.name)}"


@contextmanager
def signed_in(house, who):
    """A client that behaves as a browser of this very site does."""
    headers = {"accept": "text/html", "sec-fetch-site": "same-origin"}
    with httpx.Client(base_url=house.address, headers=headers, follow_redirects=True, timeout=60) as client:
        secret = link(house, who).rsplit("/", 1)[1]
        assert client.post("/enter", data={"secret": secret}).status_code == 200
        yield client


def opened(browser, house, who, **more):
    """A page of somebody who followed a link, and what its console says of errors."""
    context = browser.new_context(**more)
    page, faults = context.new_page(), []
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(link(house, who))
    page.click("text=Sign in")
    page.wait_for_selector("nav")
    return page, faults


def plan_and_submit(page, epsilon, kind="fit", what="majority-forest", where=""):
    page.click("text=Tables")
    page.click("a:text-is('Plan')")
    page.click({"fit": "text=Learn a model", "ask": "text=Ask a question"}[kind])
    page.select_option("select[name=what]", what)
    page.fill("input[name=epsilon]", epsilon)
    if where:
        page.fill("input[name=where]", where)
    page.click("text=Work out the price")
    page.wait_for_selector(f"text=Price: ε={epsilon}")
    page.click("text=Submit: spends")
    page.wait_for_url("**/jobs/*")


@pytest.mark.parametrize("script", [True, False], ids=["with a script", "without"])
def test_what_a_question_takes_is_filled_in(served, browser, script):
    page, faults = opened(browser, served, ADA, java_script_enabled=script)
    page.goto(f"{served.address}/tables/visits/plan?kind=ask")
    page.select_option("select[name=what]", "noisy_moments")
    if not script:
        page.click("text=Work out the price")
    page.select_option("select[name='p.column']", "age")
    page.check("input[name='p.by'][value=town]")
    page.fill("input[name=epsilon]", "0.05")
    page.click("text=Work out the price")
    page.wait_for_selector("text=Price: ε=0.05")
    assert "mean, sum and variance of age by town" in page.inner_text("#price") and not faults
    body = json.loads(page.input_value("#price input[name=body]"))
    assert body["params"] == {"epsilon": "0.05", "column": "age", "by": ["town"]}


@pytest.mark.parametrize("script", [True, False], ids=["with a script", "without"])
def test_an_analyst_goes_from_a_link_to_a_model(served, browser, script):
    page, faults = opened(browser, served, ADA, java_script_enabled=script)
    plan_and_submit(page, "0.1")
    for _ in range(60):
        if page.query_selector("text=Look at the model"):
            break
        page.wait_for_timeout(500)
        if not script:
            page.reload()
    page.click("text=Look at the model")
    page.wait_for_selector("h2:text-is('Card')")
    assert re.search("(1/10|0.1)-differential privacy", page.inner_text("main")) and not faults


def test_an_owner_approves_and_an_analyst_sees_it(served, browser):
    page, faults = opened(browser, served, ADA)
    plan_and_submit(page, "0.3", "ask", "noisy_count", "age > 60")
    assert page.query_selector(".here:text-is('waiting')")
    job = page.url
    owner, more_faults = opened(browser, served, OLGA)
    assert owner.query_selector("text=1 job waits for you")
    owner.click("text=1 job waits for you")
    owner.click("text=Approve")
    owner.wait_for_selector("text=Nothing waits for you")
    for _ in range(60):
        page.goto(job)
        if page.query_selector("h2:text-is('Answer')"):
            break
        page.wait_for_timeout(500)
    assert page.query_selector("text=it is within") and not faults + more_faults


def test_a_model_is_verified_by_dropping_its_file(served, browser, tmp_path):
    page, faults = opened(browser, served, ADA, accept_downloads=True)
    plan_and_submit(page, "0.05")
    page.wait_for_selector("text=Look at the model", timeout=60_000)
    page.click("text=Look at the model")
    with page.expect_download() as taken:
        page.click("text=Take the file")
    file = tmp_path / "model.privet"
    taken.value.save_as(file)
    page.click("text=Verify")
    page.set_input_files("input[name=model]", file)
    page.click("button:text-is('Verify')")
    assert page.wait_for_selector("text=✓ It holds")
    whole = file.read_bytes()
    file.write_bytes(whole[:-40] + bytes(40))
    page.set_input_files("input[name=model]", file)
    page.click("button:text-is('Verify')")
    assert page.wait_for_selector("text=✗ It does not hold") and not faults
    file.write_bytes(whole)
    head = served.ledger.head()
    for seen, says in ((head, "✓ witness"), (replace(head, hash="0" * 64), "✗ witness")):
        (tmp_path / "heads").write_text(json.dumps(asdict(seen)) + "\n")
        page.click("text=Heads that a witness kept")
        page.set_input_files("input[name=model]", file)
        page.set_input_files("input[name=witness]", tmp_path / "heads")
        page.click("button:text-is('Verify')")
        assert page.wait_for_selector(f"text={says}")


@pytest.mark.parametrize(
    "line", ["[]", "{", '{"number": "x", "hash": 1, "signature": [], "key": {}}', "[" * 3000]
)
def test_what_is_no_witness_is_told(served, line):
    with signed_in(served, OLGA) as client:
        told = client.post("/verify", files={"model": b"no model", "witness": line.encode()})
        assert told.status_code == 400 and "no witness file" in told.text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_a_telephone_and_can_be_read_in_the_dark(served, browser, scheme):
    page, faults = opened(browser, served, OLGA, viewport={"width": 360, "height": 700}, color_scheme=scheme)
    for path in (*PATHS, *OWNED):
        page.goto(served.address + path)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360, path
    paper, ink = (
        page.evaluate(f"getComputedStyle(document.body).{name}") for name in ("backgroundColor", "color")
    )
    dark = sum(map(int, re.findall(r"\d+", paper)[:3])) < sum(map(int, re.findall(r"\d+", ink)[:3]))
    assert dark == (scheme == "dark") and not faults


def test_a_keyboard_reaches_everything(served, browser):
    page, _ = opened(browser, served, ADA)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.goto(f"{served.address}/jobs")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "filter"
    for path in PATHS:
        page.goto(served.address + path)
        unnamed = page.evaluate(
            "[...document.querySelectorAll('input:not([type=hidden]),select,textarea')]"
            ".filter(each => !each.labels.length).length"
        )
        assert unnamed == 0, path
        assert page.query_selector("meter:not([aria-label]), progress:not([aria-label])") is None, path


def test_hostile_names_are_text(served, browser):
    contract = SCHEMA.to_dict()
    contract["features"][0]["name"] = HOSTILE
    contract["features"][1]["categories"] = ["</table><img src=x onerror=alert(1)>", "south"]
    (served.tables / "odd.csv").write_text(
        '"<script>alert(""x"")</script>",town,ill\n1,south,yes\n2,south,no\n'
    )
    people.create_people(served, OLGA, "odd", Budget(1), HOSTILE)
    tables.register(served, OLGA, "odd", "odd", "file:odd.csv", contract)
    with signed_in(served, OLGA) as client:
        shown = client.get("/tables/odd/plan?kind=ask").text
        assert "&#34;&lt;script&gt;alert(&#34;&#34;x&#34;&#34;)&lt;/script&gt;&#34; > 60" in shown
    page, faults = opened(browser, served, OLGA)
    page.on("dialog", lambda dialog: faults.append("a script ran"))
    for path in ("/tables/odd", "/tables/odd/plan?what=%3Cscript%3E&epsilon=1", "/people/odd", "/audit"):
        page.goto(served.address + path)
    page.goto(f"{served.address}/tables/odd")
    assert HOSTILE in page.inner_text("main") and not faults


@pytest.mark.parametrize("who", [ADA, OLGA], ids=["analyst", "owner"])
def test_every_page_has_a_twin_of_data(served, who):
    with signed_in(served, who) as client:
        for path in (*PATHS, *(OWNED if who is OLGA else ("/verify",))):
            shown, twin = client.get(path), client.get(("/tables" if path == "/" else path) + ".json")
            assert shown.status_code == twin.status_code == 200, path
            assert shown.headers["content-type"].startswith("text/html")
            assert "unsafe" not in shown.headers["content-security-policy"]
            assert not re.search(r"\sstyle=|<style|\son\w+=|<script>", shown.text), path
            assert isinstance(json.loads(twin.text), dict)


def test_an_analyst_sees_nothing_of_others_and_owners_pages_are_closed(served):
    with signed_in(served, ADA) as client:
        assert "bob" not in client.get("/people/patients").text + client.get("/people/patients.json").text
        for path in ("/approvals", "/audit", "/members"):
            assert client.get(path).status_code == client.get(f"{path}.json").status_code == 403
        assert client.get("/models/nothing").status_code == 404
        told = client.post("/people", data={"name": "more", "epsilon": "1"})
        assert told.status_code == 403 and "Not allowed" in told.text


def test_who_is_not_signed_in_is_shown_the_way_and_other_sites_change_nothing(served):
    with httpx.Client(base_url=served.address, headers={"accept": "text/html"}) as client:
        refused = client.get("/tables/visits")
        assert refused.status_code == 401 and "/sign-in" in refused.text
        assert "gives you a link" in client.get("/sign-in").text
    with signed_in(served, OLGA) as client:
        foreign = {"sec-fetch-site": "cross-site"}
        told = client.post("/people", data={"name": "stolen", "epsilon": "1"}, headers=foreign)
        assert told.status_code == 403
        assert client.get("/people/stolen").status_code == 404


def test_a_form_that_cannot_be_read_is_told_and_charges_nothing(served):
    with signed_in(served, ADA) as client:
        before = client.get("/people/patients.json").json()["purse"]["left"]
        odd = client.get("/tables/visits/plan", params={"what": "boosting", "epsilon": "x"})
        assert odd.status_code == 200 and "notice bad" in odd.text
        more = {"what": "boosting", "epsilon": "0.1", "p.passes": "<i>", "p.nothing": "1"}
        told = client.get("/tables/visits/plan", params=more).text
        assert "passes is no number" in told and "<i>" not in told
        assert client.post("/tables/visits/jobs", data={"body": "no", "key": "12345678"}).status_code == 400
        assert client.get("/people/patients.json").json()["purse"]["left"] == before


def test_what_is_nested_deeply_is_no_json(served):
    deep = "[" * 3000
    with signed_in(served, OLGA) as client:
        assert client.post("/tables/visits/jobs", data={"body": deep, "key": "12345678"}).status_code == 400
        table = {"name": "deep", "people": "patients", "address": "file:patients.csv", "contract": deep * 10}
        assert client.post("/tables", data=table).status_code == 400


def test_an_officer_is_shown_ledgers_and_no_table(served):
    omar = Who("omar", OFFICER, ROLES[OFFICER])
    members.add_member(served, OLGA, omar.name, omar.role)
    with signed_in(served, omar) as client:
        start = client.get("/").text
        assert "/people" in start and "/verify" in start and "cap on one" not in start
        assert client.get("/people/patients").status_code == client.get("/audit").status_code == 200
        assert client.get("/tables/visits").status_code in (403, 404)


def test_a_plan_offers_what_fits_its_kind(served):
    with signed_in(served, ADA) as client:
        fit, ask, score = (
            client.get(f"/tables/visits/plan?kind={kind}").text for kind in ("fit", "ask", "score")
        )
        assert "boosting</option>" in fit and "More about boosting" in fit and 'name="p.passes"' in fit
        assert "noisy moments</option>" in ask and 'name="where"' in ask and 'name="where"' not in fit
        empty = client.get("/tables/visits/plan?kind=ask&what=noisy_moments&epsilon=0.1").text
        assert "column is left open" in empty
        assert "auc</option>" in score and "rmse" not in score and 'name="model"' in score
        odd = client.get("/tables/visits/plan?kind=fit&what=<b>&epsilon=0.1").text
        assert "there is no learner" in odd and "<b>&" not in odd


def test_an_owner_chooses_in_the_browser_how_costs_add_up(served):
    with signed_in(served, OLGA) as client:
        form = {"name": "gaussian", "epsilon": "1", "delta": "1e-6", "accounting": "gdp"}
        assert 'name="accounting"' in client.get("/").text
        assert "Gaussian differential privacy" in client.post("/people", data=form).text
        assert "Gaussian" not in client.get("/people/patients").text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_breaks_a_rule_of_accessibility(served, browser, scheme):
    fit = {"kind": "fit", "what": "boosting", "params": {"epsilon": "0.1"}}
    job = jobs.submit(served, OLGA, "visits", fit, "a-key-of-olga")
    until = time.monotonic() + 120
    while jobs.job(served, OLGA, job.id).state != jobs.RELEASED and time.monotonic() < until:
        time.sleep(0.2)
    page, _ = opened(browser, served, OLGA, color_scheme=scheme)
    shown = [*PATHS, *OWNED, f"/jobs/{job.id}", f"/models/{job.id}", "/nowhere"]
    shown += ["/tables/visits/plan?what=boosting&epsilon=0.1", "/tables/visits/plan?kind=ask"]
    found = {}
    for path in shown:
        page.goto(served.address + path)
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
        told = Axe().run(page).response["violations"]
        broken = [(each["id"], [node["html"] for node in each["nodes"]]) for each in told]
        found |= {path: broken} if broken else {}
    assert not found
    page.evaluate("document.querySelector('main').innerHTML += '<input>'")
    assert [each["id"] for each in Axe().run(page).response["violations"]] == ["label"]
