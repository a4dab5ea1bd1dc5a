"""No page has a broken link."""

import pytest

from tests.unit.docs.pages import ROOT, Page, pages


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_links_lead_somewhere(page: Page) -> None:
    broken = []
    for line, link in page.links:
        if link.startswith(("https://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.path.parent / path).resolve() if path else page.path
        found = [other for other in pages() if other.path == target]
        if not target.exists() or not target.is_relative_to(ROOT):
            broken.append(f"{page.name}:{line}: {link} does not exist")
        elif anchor and not (found and anchor in found[0].anchors):
            broken.append(f"{page.name}:{line}: {link} has no such heading")
    assert not broken, "\n".join(broken)


def test_every_page_of_the_docs_can_be_reached_from_the_readme() -> None:
    seen = {ROOT / "README.md"}
    todo = list(seen)
    by_path = {page.path: page for page in pages()}
    while todo:
        page = by_path[todo.pop()]
        for _, link in page.links:
            target = (page.path.parent / link.partition("#")[0]).resolve()
            if target.is_dir():
                target /= "README.md"
            if target in by_path and target not in seen:
                seen.add(target)
                todo.append(target)
    assert {page.name for page in pages()} == {path.relative_to(ROOT).as_posix() for path in seen}
