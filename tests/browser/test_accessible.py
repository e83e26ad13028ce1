"""A narrow page, both themes, and the editor without a mouse."""

import pytest

pytestmark = pytest.mark.browser
TABS = ("Timeline", "Debugger", "Generated code", "Authoring source", "Compare", "Run log")
LEGEND = ["works", "in flight", "waits", "stage fills", "full", "read"]

# What has the focus, by its name, through shadow roots.
FOCUSED = """() => {
  let e = document.activeElement;
  while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
  return e?.ariaLabel || e?.getAttribute?.("aria-label") || e?.textContent?.trim() || "";
}"""

# What can be used but has no name, or no place among those that Tab reaches.
NAMELESS = """root => [...root.querySelectorAll(
    "button, input:not(.hidden), select, summary, [role=button], [role=tab], [role=separator]")]
  .filter(e => e.checkVisibility() && !e.disabled)
  .filter(e => !(e.getAttribute("aria-label") || e.labels?.length || e.textContent.trim() || e.title)
    || (e.tabIndex < 0 && e.getAttribute("role") !== "tab"))
  .map(e => e.outerHTML.slice(0, 120))"""

# Text that stands out less than 4.5 to 1 from what is behind it; disabled controls are exempt.
FAINT = """root => {
  const channel = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const parts = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const color = parts(getComputedStyle(e).backgroundColor);
      if ((color[3] ?? 1) > 0.99) return color;
    }
  };
  const faint = [];
  for (const e of root.querySelectorAll("*")) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || e.namespaceURI.endsWith("svg") || !e.checkVisibility() || e.closest(":disabled, option, style")) continue;
    const back = behind(e), [a, b] = [light(parts(getComputedStyle(e).color)), back ? light(back) : 1];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) faint.push(`${ratio.toFixed(2)} ${e.className} ${e.textContent.trim().slice(0, 40)}`);
  }
  return faint;
}"""

OUTSIDE = """bar => [...bar.querySelectorAll("*")].filter(e => {
  const { left, right } = e.getBoundingClientRect();
  return e.checkVisibility() && !e.closest(".hidden, .menu, option") && (right > innerWidth + 0.5 || left < -0.5);
}).map(e => e.outerHTML.slice(0, 90))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_page_hides_nothing(editor, address, scheme):
    page = editor.page
    page.emulate_media(color_scheme=scheme)
    page.evaluate("localStorage.clear()")
    page.set_viewport_size({"width": 1024, "height": 768})
    editor.open(address)
    assert editor.root.get_attribute("data-theme") == scheme
    page.get_by_label("Search the timeline").fill("mma")
    page.locator(".warpdraft .timeline-tools .detail", has_text="1 of").wait_for()
    for bar in (".toolbar", ".timeline-tools", ".tabs"):
        assert page.locator(f".warpdraft {bar}").evaluate(OUTSIDE) == []
    page.get_by_label("What the bars mean").click()
    assert page.locator(".warpdraft .legend:visible li").all_inner_texts() == LEGEND
    page.keyboard.press("Escape")
    # A resource that is chosen elsewhere comes into the part of the graph that is shown.
    node, drawing = (
        page.locator(".warpdraft .drawing g.node", has_text="gmem_c"),
        page.locator(".warpdraft .drawing"),
    )
    frame = drawing.bounding_box()
    assert node.bounding_box()["x"] + node.bounding_box()["width"] > frame["x"] + frame["width"]
    page.get_by_label("Resources", exact=True).locator(".name", has_text="gmem_c").click()
    page.locator(".warpdraft .drawing g.node.chosen").wait_for()
    box = node.bounding_box()
    assert frame["x"] <= box["x"] and box["x"] + box["width"] <= frame["x"] + frame["width"]
    assert frame["y"] <= box["y"] and box["y"] + box["height"] <= frame["y"] + frame["height"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_control_has_a_name_and_every_word_can_be_read(editor, address, scheme):
    page = editor.page
    page.emulate_media(color_scheme=scheme)
    page.evaluate("localStorage.clear()")
    editor.open(address)
    page.get_by_label("Open document").select_option("broken_deadlock.warpdraft.json")
    page.locator(".warpdraft .verdict.unsafe").wait_for()
    page.locator(".warpdraft .finding .what").first.click()
    page.locator(".warpdraft .explained .witness li").first.wait_for()
    for tab in TABS:
        page.get_by_role("tab", name=tab).click()
        page.wait_for_timeout(300)
        assert editor.root.evaluate(NAMELESS) == []
        assert editor.root.evaluate(FAINT) == []


def test_a_schedule_is_broken_debugged_and_mended_without_a_mouse(editor):
    page = editor.page

    def reach(name: str) -> None:
        for _ in range(250):
            if page.evaluate(FOCUSED).startswith(name):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"Tab does not reach {name}")

    def walk_to(call: str) -> None:
        chosen = page.locator(".warpdraft .node.chosen > .op")
        for _ in range(40):
            if chosen.count() and call in chosen.inner_text():
                return
            page.keyboard.press("ArrowDown")
            page.wait_for_timeout(60)
        raise AssertionError(f"the arrows do not come to {call}")

    walk_to("smem_ab.acquire")
    editor.edited(lambda: page.keyboard.press("Delete"))
    assert editor.verdict == "Unsafe"
    page.keyboard.press("n")
    page.locator(".warpdraft .explained h2, .warpdraft .explained .code").first.wait_for()
    reach("Timeline")
    page.keyboard.press("ArrowRight")
    page.get_by_role("tab", name="Debugger", selected=True).wait_for()
    reach("Step forward")
    page.keyboard.press("Enter")
    page.locator(".warpdraft .steps li b").first.wait_for()
    reach("Save as")
    editor.root.focus()
    editor.edited(lambda: page.keyboard.press("Control+z"))
    assert editor.verdict == "Safe"
    reach("Show as a table")
    page.keyboard.press("Enter")
    assert page.locator(".warpdraft .graph .facts-table tbody tr").count() >= 5
