"""Lines and pages made from bundles, one file per format; nothing is printed here."""

from pytest_nel.core.registry import Registry
from pytest_nel.reports.table import Format

REGISTRY: Registry[Format] = Registry(
    "reports",
    {
        "csv": "pytest_nel.reports.csv:CsvReport",
        "html": "pytest_nel.reports.html:HtmlReport",
        "json": "pytest_nel.reports.json:JsonReport",
        "latex": "pytest_nel.reports.latex:LatexReport",
        "markdown": "pytest_nel.reports.markdown:MarkdownReport",
    },
)
