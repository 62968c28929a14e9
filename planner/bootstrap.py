"""The composition root: the only module that knows every adapter and hands each service what it needs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from planner.config import Settings
from planner.core.errors import PlannerError
from planner.services.catalog import CatalogService
from planner.services.kinds import Library
from planner.services.ports import Kind, Queue
from planner.services.resources import ResourceService

if TYPE_CHECKING:
    from planner.services.accuracy.own_rows import OwnRowsService
    from planner.services.accuracy.validating import ValidationService
    from planner.services.conversations import Conversations
    from planner.services.frontier.service import FrontierService
    from planner.services.frontier.whatif import WhatIfService
    from planner.services.imports import ImportService
    from planner.services.jobs import JobService
    from planner.services.labs import LabService
    from planner.services.parse import Grammar
    from planner.services.plan.answer import PlanService
    from planner.services.procurement.fleet import FleetService
    from planner.services.procurement.replicas import ReplicaService
    from planner.services.procurement.whatif import ProcurementService
    from planner.services.questions.answering import Answering
    from planner.services.simulation.service import SimulationService
    from planner.services.sizing.service import SizingService
    from planner.services.supervision import Supervisor
    from planner.services.sweep.service import SweepService
    from planner.services.worker import Handler
    from planner.services.workspaces import WorkspaceService
    from planner.storage.unit_of_work import SqlStore


@dataclass
class Planner:
    """Every service, made on first use: the command line must not pay for what it does not touch."""

    settings: Settings

    @cached_property
    def store(self) -> SqlStore:
        """Return the database behind the service."""
        from planner.storage.engine import open_engine  # noqa: PLC0415 - SQLAlchemy takes 0.3 s to import
        from planner.storage.unit_of_work import SqlStore  # noqa: PLC0415 - as above

        return SqlStore(open_engine(self.settings.database_url))

    @cached_property
    def catalog(self) -> CatalogService:
        """Return names to values, over the built-in entries and the database's."""
        return CatalogService(libraries(), self.store if self._has_database() else None)

    @cached_property
    def plans(self) -> PlanService:
        """Return the plans."""
        from planner.catalog.loader import catalog_root  # noqa: PLC0415 - read when first needed
        from planner.catalog.profiles import ProfileCatalog  # noqa: PLC0415 - as above
        from planner.services.calibrations import CalibratedProfiles  # noqa: PLC0415 - numpy takes 0.1 s to import
        from planner.services.plan.answer import PlanService  # noqa: PLC0415 - numpy takes 0.1 s to import

        return PlanService(self.catalog, CalibratedProfiles(ProfileCatalog(catalog_root() / "profiles"),
                                                            self._calibration))

    def _calibration(self, workspace: str, name: str) -> Mapping[str, object]:
        """Return a stored calibration, its SKU under its catalogued name."""
        entry = self.catalog.entry("calibration", name, workspace)
        sku = self.catalog.sku(str(entry.document["sku"]), workspace).id
        return {**entry.document, "sku": sku, "version": entry.version}

    @cached_property
    def grammar(self) -> Grammar:
        """Return the reader of questions in plain words."""
        from planner.catalog.vocabulary import built_in_vocabulary  # noqa: PLC0415 - reads every model file
        from planner.services.parse import Grammar  # noqa: PLC0415 - as above

        return Grammar(built_in_vocabulary())

    @cached_property
    def answering(self) -> Answering:
        """Return the replies to questions in plain words."""
        from planner.catalog.price_book import PriceBook  # noqa: PLC0415 - read when first needed
        from planner.services.questions.answering import Answering  # noqa: PLC0415 - numpy takes 0.1 s to import
        from planner.services.questions.cheapest import Cheapest  # noqa: PLC0415 - as above
        from planner.services.questions.sizing import PlanSizes, RateSizes, Sizing  # noqa: PLC0415 - as above
        from planner.services.questions.solver import Solver  # noqa: PLC0415 - as above

        vocabulary, prices = self.grammar.vocabulary, PriceBook()
        solver = Solver(self.plans, self.catalog, prices)
        sizes = PlanSizes(solver, vocabulary)
        sizing = Sizing(sizes, RateSizes(self.sizing), vocabulary, prices)
        return Answering(solver, sizing, Cheapest(sizes, sizing, vocabulary), vocabulary)

    @cached_property
    def conversations(self) -> Conversations:
        """Return what the Slack app keeps."""
        from planner.storage.repositories.slack import SqlConversations  # noqa: PLC0415 - SQLAlchemy takes 0.3 s

        return SqlConversations(self.store.engine)

    @cached_property
    def labs(self) -> LabService:
        """Return the labs."""
        from planner.catalog.loader import catalog_root  # noqa: PLC0415 - read when first needed
        from planner.catalog.profiles import ProfileCatalog  # noqa: PLC0415 - as above
        from planner.services.labs import LabService  # noqa: PLC0415 - numpy takes 0.1 s to import

        return LabService(self.catalog, ProfileCatalog(catalog_root() / "profiles"))

    @cached_property
    def sweeps(self) -> SweepService:
        """Return the sweeps."""
        from planner.services.sweep.service import SweepService  # noqa: PLC0415 - numpy takes 0.1 s to import

        return SweepService(self.plans)

    @cached_property
    def validations(self) -> ValidationService:
        """Return the scoring of predictions against measured rows."""
        from planner.services.accuracy.validating import ValidationService  # noqa: PLC0415 - numpy takes 0.1 s

        return ValidationService(self.plans)

    @cached_property
    def own_rows(self) -> OwnRowsService:
        """Return the learning from a caller's own measured rows."""
        from planner.services.accuracy.own_rows import OwnRowsService  # noqa: PLC0415 - as above

        return OwnRowsService(self.validations)

    @staticmethod
    def accuracy_report() -> Mapping[str, object]:
        """Return the published accuracy report."""
        from planner.catalog.accuracy import published_accuracy  # noqa: PLC0415 - read when first needed

        return published_accuracy()

    @cached_property
    def imports(self) -> ImportService:
        """Return the reading of users' own files."""
        from planner.catalog.importers.readers import readers  # noqa: PLC0415 - read when first needed
        from planner.services.imports import ImportService  # noqa: PLC0415 - numpy takes 0.1 s to import

        return ImportService(self.catalog, readers())

    @cached_property
    def sizing(self) -> SizingService:
        """Return the sizings."""
        from planner.catalog.price_book import PriceBook  # noqa: PLC0415 - read when first needed
        from planner.services.sizing.service import SizingService  # noqa: PLC0415 - numpy takes 0.1 s to import

        return SizingService(self.plans, PriceBook())

    @cached_property
    def frontiers(self) -> FrontierService:
        """Return the frontiers."""
        from planner.catalog.price_book import PriceBook  # noqa: PLC0415 - read when first needed
        from planner.services.frontier.service import FrontierService  # noqa: PLC0415 - numpy takes 0.1 s to import

        return FrontierService(self.plans, PriceBook())

    @cached_property
    def whatifs(self) -> WhatIfService:
        """Return what pools, drafts and prefix caches change."""
        from planner.services.frontier.whatif import WhatIfService  # noqa: PLC0415 - numpy takes 0.1 s to import

        return WhatIfService(self.plans)

    @cached_property
    def simulations(self) -> SimulationService:
        """Return the simulations."""
        from planner.services.simulation.service import SimulationService  # noqa: PLC0415 - as above

        return SimulationService(self.plans)

    @cached_property
    def replicas(self) -> ReplicaService:
        """Return what replicas carry, for procurement."""
        from planner.services.procurement.replicas import ReplicaService  # noqa: PLC0415 - numpy takes 0.1 s to import

        return ReplicaService(self.plans)

    @cached_property
    def procurements(self) -> ProcurementService:
        """Return the procurement what-ifs."""
        from planner.services.procurement.whatif import ProcurementService  # noqa: PLC0415 - as above

        return ProcurementService(self.catalog, self.replicas)

    @cached_property
    def fleets(self) -> FleetService:
        """Return the fleet optimiser."""
        from planner.services.procurement.fleet import FleetService  # noqa: PLC0415 - numpy takes 0.1 s to import

        return FleetService(self.catalog, self.replicas)

    @cached_property
    def resources(self) -> ResourceService:
        """Return the stored entries."""
        return ResourceService(self.store, self.catalog)

    @cached_property
    def workspaces(self) -> WorkspaceService:
        """Return export and import of a workspace."""
        from planner.services.workspaces import WorkspaceService  # noqa: PLC0415 - read when first needed

        return WorkspaceService(self.store, self.catalog)

    @cached_property
    def jobs(self) -> JobService:
        """Return the long questions."""
        from planner.services.jobs import JobService  # noqa: PLC0415 - read when first needed

        return JobService(self.store)

    @cached_property
    def queue(self) -> Queue:
        """Return the workers' side of the jobs."""
        from planner.storage.repositories.queue import SqlQueue  # noqa: PLC0415 - SQLAlchemy takes 0.3 s to import

        return SqlQueue(self.store.engine, keep=timedelta(days=self.settings.job_result_days))

    @cached_property
    def handlers(self) -> Mapping[str, Handler]:
        """Return what workers run, by kind of job."""
        from planner.services.accuracy.validating import handler as validating  # noqa: PLC0415 - as above
        from planner.services.procurement.job import fleet_handler, whatif_handler  # noqa: PLC0415 - as above
        from planner.services.simulation.service import handler as simulating  # noqa: PLC0415 - as above
        from planner.services.sizing.reading import handler as sizing  # noqa: PLC0415 - as above
        from planner.services.sweep.job import handler  # noqa: PLC0415 - numpy takes 0.1 s to import

        return {"sweep": handler(lambda: self.sweeps), "size": sizing(lambda: self.sizing),
                "simulation": simulating(lambda: self.simulations),
                "validation": validating(lambda: self.validations),
                "fleet": fleet_handler(lambda: self.fleets), "whatif": whatif_handler(lambda: self.procurements)}

    def supervisor(self, processes: int = 1) -> Supervisor:
        """Return worker processes over the same database, not yet started."""
        from planner.services.supervision import Supervisor  # noqa: PLC0415 - read when first needed

        environment = {**self.settings.environment, "PLANNER_DATABASE_URL": self.settings.database_url}
        return Supervisor([sys.executable, "-m", "planner.worker"], environment, processes)

    def _has_database(self) -> bool:
        """Tell whether there is a database to ask: the command line answers without ever having made one."""
        kind, _, path = self.settings.database_url.partition(":///")
        return kind != "sqlite" or Path(path).exists()

    def upgrade(self) -> None:
        """Migrate the database when the settings say so."""
        if self.settings.upgrade_on_start:
            from planner.storage import migrate  # noqa: PLC0415 - as above

            migrate.upgrade(self.store.engine)

    def warm(self) -> None:
        """Answer a plan, so that no caller waits for the imports, the index of names and the first profile."""
        from planner.services.plan.question import PlanQuestion  # noqa: PLC0415 - numpy takes 0.1 s to import

        libraries = self.catalog.libraries
        model, sku = (next(iter(libraries[kind].ids())) for kind in ("model", "sku"))
        with suppress(PlannerError):
            self.plans.answer(PlanQuestion(model=model, sku=sku))

    def close(self) -> None:
        """Give the database's connections back."""
        if "store" in self.__dict__:
            self.store.engine.dispose()


def libraries() -> Mapping[Kind, Library]:
    """Return each kind of entries with its built-in ones and its reader."""
    from planner.catalog.chips import built_in_chips  # noqa: PLC0415 - read when first needed
    from planner.catalog.libraries import DocumentLibrary, PriceLibrary, SkuLibrary  # noqa: PLC0415 - as above
    from planner.catalog.model_library import ModelLibrary  # noqa: PLC0415 - as above
    from planner.catalog.models import built_in_models  # noqa: PLC0415 - as above

    return {"model": ModelLibrary(built_in_models()), "sku": SkuLibrary(built_in_chips()), "price": PriceLibrary(),
            "scenario": DocumentLibrary("scenario"), "calibration": DocumentLibrary("calibration")}
