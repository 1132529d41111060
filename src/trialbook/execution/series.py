"""The sessions of a trial, one after another, each with the repository that the last one left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from trialbook.api import AgentEnd, AgentResult
from trialbook.execution.attempts import both_isolations
from trialbook.execution.change import change_between
from trialbook.execution.findings import Findings
from trialbook.execution.integration import ground_of
from trialbook.execution.session import Session
from trialbook.execution.session_done import DoneSession, Progress
from trialbook.execution.session_outcome import ENDS_SERIES
from trialbook.execution.setting import Setting
from trialbook.model.outcome import Outcome
from trialbook.model.runfiles import EGRESS_LOG
from trialbook.model.series import CONTINUE
from trialbook.model.trial import Attempt, EgressRecord
from trialbook.storage.trees import FolderTree
from trialbook.system import timestamp


@dataclass(slots=True, kw_only=True)
class Series:
    """Does the sessions of one trial. ``done`` are those that are over, in their order."""

    setting: Setting
    found: Findings
    progress: Progress
    done: list[DoneSession] = field(default_factory=list)

    def make(self) -> None:
        """Do what is still to be done; all that is known goes to the trial's findings.

        Raises:
            TrialbookError: something on our side is in the way.
        """
        begun = self._take_over()
        last: Findings | None = None
        try:
            for number, plan in enumerate(self.setting.spec.task.sessions, 1):
                if number <= len(self.done):
                    continue
                if self.setting.is_stopped() or self._is_over():
                    break
                last = Findings(started=timestamp(self.setting.runner.system.now()))
                self.progress.begin(number, self.found.started)
                session = Session(
                    setting=self.setting,
                    number=number,
                    plan=plan,
                    before=self.done,
                    interrupted=begun.get(number, 0),
                    found=last,
                )
                made = session.run()
                if made is None:
                    break
                if made.record.outcome not in ENDS_SERIES:
                    self.progress.keep(made)
                self.done.append(made)
                last = None
        finally:
            self._gather(last)
        self._final(last)

    def _take_over(self) -> dict[int, int]:
        """Go on where an earlier runner ended; gives how often each session was begun."""
        before = self.progress.so_far()
        if before is None:
            return {}
        store = self.setting.store
        there = all(
            one.record.end.tree in store and one.record.end.head in store for one in before.done
        )
        if there:
            self.done = list(before.done)
            self.found.started = before.started
        return before.begun

    def _is_over(self) -> bool:
        """Whether no session may follow the last one that is done."""
        if not self.done:
            return False
        last = self.done[-1].record
        if last.outcome in ENDS_SERIES or last.outcome is Outcome.POLICY_VIOLATION:
            return True
        # What was left out for want of money or time would be so again.
        used_up = last.outcome is None and "used up" in last.reason
        ends = self.setting.spec.task.after_failure != CONTINUE
        return used_up or (ends and last.outcome is not Outcome.ACCEPTED)

    # --- what is known of all of them ---

    def _gather(self, last: Findings | None) -> None:
        """Put together what the sessions found, that of an unfinished one as far as it came."""
        found = self.found
        found.sessions = list(self.done)
        for one in self.done:
            found.attempts += one.attempts
            found.files |= one.files
            found.patches |= one.patches
            found.visible |= one.visible
            found.secrets += one.secrets
            found.stages += one.stages
            found.agent = one.agent or found.agent
            if one.sightings is not None:
                found.see(one.sightings)
            if one.isolation is not None:
                found.isolation = both_isolations(found.isolation, one.isolation)
        lines = b"".join(one.egress_lines for one in self.done)
        egress = [one.egress for one in self.done if one.egress is not None]
        if last is not None:
            self._add_unfinished(last)
            lines += last.files.get(EGRESS_LOG, b"")
            egress += [last.egress] if last.egress is not None else []
        if egress:
            found.egress = _together(egress, has_log=bool(lines))
        if lines:
            found.files[EGRESS_LOG] = lines

    def _add_unfinished(self, last: Findings) -> None:
        found = self.found
        found.attempts += last.attempts
        found.files |= {name: data for name, data in last.files.items() if name != EGRESS_LOG}
        found.patches |= last.patches
        found.visible |= last.visible
        found.secrets += last.secrets
        found.stages += last.stages
        found.agent = last.agent or found.agent
        found.cut_short = last.cut_short
        if last.sightings is not None:
            found.see(last.sightings)
        if last.isolation is not None:
            found.isolation = both_isolations(found.isolation, last.isolation)

    def _final(self, last: Findings | None) -> None:
        """What the series left: from its start to the end of the last session that came to one."""
        setting, found = self.setting, self.found
        if last is not None:
            found.result = last.result
            return
        if not self.done:
            return
        end = self.done[-1]
        omitted = next((one.omitted for one in reversed(self.done) if one.attempts), ())
        final = FolderTree(tree=end.record.end.tree, omitted=omitted)
        found.change = change_between(setting.store, setting.made.tree, final, work=setting.work)
        found.result = _result(found.attempts)
        ground = ground_of(
            setting.store,
            setting.spec.task,
            [one.record for one in self.done],
            task_folder=setting.supplies.task_folder(setting.spec.task),
            baseline_tree=setting.made.tree,
            work=setting.work,
        )
        if ground != setting.made.tree:
            found.ground = ground
            found.own = change_between(setting.store, ground, final, work=setting.work)


def _result(attempts: Sequence[Attempt]) -> AgentResult | None:
    """How the last agent ended, as its attempt has it on record."""
    if not attempts:
        return None
    last = attempts[-1]
    end = AgentEnd(last.end) if last.end is not None else AgentEnd.ERROR
    return AgentResult(end=end, message=last.message)


def _together(parts: Iterable[EgressRecord], *, has_log: bool) -> EgressRecord:
    """What was seen of the network in all sessions."""
    listed = list(parts)
    first = listed[0]
    return replace(
        first,
        allowed=sum(one.allowed for one in listed),
        refused=sum(one.refused for one in listed),
        failed=sum(one.failed for one in listed),
        sent=sum(one.sent for one in listed),
        received=sum(one.received for one in listed),
        hosts=tuple(sorted({host for one in listed for host in one.hosts})),
        hosts_refused=tuple(sorted({host for one in listed for host in one.hosts_refused})),
        log=EGRESS_LOG if has_log else None,
    )
