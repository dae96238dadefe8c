"""The programs and files that stand in pages."""
import re

BLOCK = re.compile(r"^```(ltr|cpp)([^\n]*)\n(.*?)^```", re.M | re.S)


def programs_of(page):
    """Marks and texts of the ```ltr blocks: `fails E0304`, or the name under which others import it."""
    return [(mark.split(), text) for language, mark, text in BLOCK.findall(page.read_text()) if language == "ltr"]


def write_files_of(page, folder):
    """Files that programs of the page name: ```cpp kernels/rope.cpp, ```ltr lib/bikes.ltr."""
    for language, mark, text in BLOCK.findall(page.read_text()):
        if mark.strip().endswith("." + language):
            path = folder / mark.strip()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
