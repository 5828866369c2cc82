"""Prints the queries of a Grafana dashboard as recording rules of Prometheus, so that promtool can check them."""

import json
import sys
from pathlib import Path

VARIABLES = {"$__rate_interval": "5m", "$instance": ".*"}


def main() -> None:
    """Prints one rule for each query of the dashboard in the file of the first argument."""
    dashboard = json.loads(Path(sys.argv[1]).read_text())
    rules = []
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            query = target["expr"]
            for name, value in VARIABLES.items():
                query = query.replace(name, value)
            rules.append({"record": f"panel_{panel['id']}_{target['refId']}", "expr": query})
    # JSON is YAML.
    json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, sys.stdout, indent=2)


if __name__ == "__main__":
    main()
