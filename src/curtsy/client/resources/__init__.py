"""What a client can do beside jobs: schedules, sources, sites, dead letters, alerts, reports."""

from curtsy.client.resources.alerts import Alerts
from curtsy.client.resources.dead_letters import DeadLetters
from curtsy.client.resources.reports import Reports
from curtsy.client.resources.schedules import Schedules
from curtsy.client.resources.sites import DeclaredSites
from curtsy.client.resources.sources import Sources

__all__ = ["Alerts", "DeadLetters", "DeclaredSites", "Reports", "Schedules", "Sources"]
