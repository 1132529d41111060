"""Every kind of fault that a ledger can have: a code, what it says, and what to make of it."""

from __future__ import annotations

from enum import StrEnum

from trialbook.verify.meaning import Meaning
from trialbook.verify.meanings_judgement import JUDGEMENT


class Code(StrEnum):
    """A kind of fault. The words are stable: programs may depend on them."""

    REPLACE_REF = "replace-ref"
    GRAFTS = "grafts"
    SHALLOW = "shallow"
    OBJECT_MISSING = "object-missing"
    OBJECT_DAMAGED = "object-damaged"
    WITNESS_NOT_ANCESTOR = "witness-not-ancestor"

    RECORD_CHANGED = "record-changed"
    RECORD_REMOVED = "record-removed"
    PLAN_CHANGED = "plan-changed"
    LOCK_CHANGED = "lock-changed"
    LOCK_REMOVED = "lock-removed"
    TRIAL_TWICE = "trial-twice"
    RESULTS_TWICE = "results-twice"
    RESULTS_APART = "results-apart"
    TRIAL_APART = "trial-apart"

    PLAN_MISSING = "plan-missing"
    PLAN_AFTER_TRIAL = "plan-after-trial"
    PLAN_COMMIT_WRONG = "plan-commit-wrong"
    PLAN_DIGEST_WRONG = "plan-digest-wrong"
    PLAN_MISPLACED = "plan-misplaced"
    SCHEDULE_DIFFERS = "schedule-differs"
    SUITE_DIGEST_DIFFERS = "suite-digest-differs"
    LOCK_MISSING = "lock-missing"
    LOCK_UNREADABLE = "lock-unreadable"
    LOCK_DIFFERS = "lock-differs"
    SUITE_DIFFERS = "suite-differs"

    RECORD_UNREADABLE = "record-unreadable"
    RECORD_NOT_CANONICAL = "record-not-canonical"
    RECORD_MISPLACED = "record-misplaced"
    RECORD_MISSING = "record-missing"
    FILE_UNLISTED = "file-unlisted"
    FILE_MODE = "file-mode"
    ARTIFACT_MISSING = "artifact-missing"
    ARTIFACT_DIFFERS = "artifact-differs"
    CUT_DIFFERS = "cut-differs"
    EGRESS_DIFFERS = "egress-differs"
    ATTEMPT_DIFFERS = "attempt-differs"
    SESSION_DIFFERS = "session-differs"
    GRADE_DIFFERS = "grade-differs"
    REGRADE_PARTIAL = "regrade-partial"
    INCIDENT_UNOPENED = "incident-unopened"
    INCIDENT_DIFFERS = "incident-differs"
    INCIDENT_ONE_SIDED = "incident-one-sided"
    REVIEW_CHANGED = "review-changed"
    REVIEW_UNKNOWN = "review-unknown"
    REVIEW_RUBRIC = "review-rubric"
    REVIEW_TWICE = "review-twice"
    REVIEW_DIFFERS = "review-differs"
    RECONCILIATION_EARLY = "reconciliation-early"
    RECONCILIATION_DIFFERS = "reconciliation-differs"
    CALIBRATION_DIFFERS = "calibration-differs"
    TRUST_DIFFERS = "trust-differs"
    RULE_LINK = "rule-link"
    PATCH_DIFFERS = "patch-differs"
    PATCH_TREE_DIFFERS = "patch-tree-differs"
    WORKSPACE_DIFFERS = "workspace-differs"
    OUTCOME_DIFFERS = "outcome-differs"

    SLOT_UNPLANNED = "slot-unplanned"
    SLOT_HIDDEN = "slot-hidden"
    RERUN_GAP = "rerun-gap"
    RERUN_LINK = "rerun-link"
    RERUN_REASON = "rerun-reason"
    RERUN_NEVER = "rerun-never"
    RERUN_BEYOND_POLICY = "rerun-beyond-policy"
    RERUN_BEFORE_REPLACED = "rerun-before-replaced"
    RERUN_INCIDENT = "rerun-incident"
    RESULTS_DIFFER = "results-differ"

    UNSIGNED = "unsigned"
    SIGNATURE_BAD = "signature-bad"
    SIGNER_UNLISTED = "signer-unlisted"

    @property
    def sentence(self) -> str:
        """What the code says."""
        return _MEANINGS[self].sentence

    @property
    def explanation(self) -> str:
        """How it may have come about, and what to do."""
        return _MEANINGS[self].explanation


_REWRITTEN = (
    "The ledger is only ever added to. Compare the commit with its parents (`git show -m COMMIT`), "
    "bring the old bytes back from the parent on a branch that never had the change, and say what "
    "happened in an amendment or an incident."
)
_CONTRADICTION = (
    "One of the two was not made by the program that wrote the other. Look at the commit that "
    "added the record, and at who made it."
)

_MEANINGS: dict[Code, Meaning] = {
    Code.REPLACE_REF: Meaning(
        "A replace ref makes git show another object in the place of a true one.",
        "With it, `git log` and `git show` can show a forged record while the true one is still "
        "there. Remove it with `git replace --delete OBJECT`, and find out who made it.",
    ),
    Code.GRAFTS: Meaning(
        "A grafts file makes git believe in other parents than commits name.",
        "It hides parts of history from git. Remove `info/grafts` from the git folder.",
    ),
    Code.SHALLOW: Meaning(
        "This clone is shallow: history before some commits is not here.",
        "What is not here cannot be checked, and everything seems to begin at once. Fetch the "
        "rest with `git fetch --unshallow` and verify again.",
    ),
    Code.OBJECT_MISSING: Meaning(
        "An object that the history refers to is not there.",
        "Fetch it from a clone that has it. A partial clone has to be completed first.",
    ),
    Code.OBJECT_DAMAGED: Meaning(
        "An object cannot be read, or its bytes are not those that its name stands for.",
        "The disk may be failing, or somebody wrote into the object store. Fetch the object again "
        "from a clone that has it; `git fsck` names the file.",
    ),
    Code.WITNESS_NOT_ANCESTOR: Meaning(
        "The witness is not in the history of this commit.",
        "The witness is a commit that the ledger once had. If the history no longer leads to it, "
        "the history was rewritten, or this is another branch or another repository.",
    ),
    Code.RECORD_CHANGED: Meaning("A record was changed after it was committed.", _REWRITTEN),
    Code.RECORD_REMOVED: Meaning("A record was removed after it was committed.", _REWRITTEN),
    Code.PLAN_CHANGED: Meaning("A plan was changed after it was committed.", _REWRITTEN),
    Code.LOCK_CHANGED: Meaning(
        "The lock of a protocol version was changed after it was committed.",
        "A number stands for one set of rules, for ever. Restore the lock, and give the new rules "
        "the next number with `trialbook suite bump`.",
    ),
    Code.LOCK_REMOVED: Meaning(
        "The lock of a protocol version was removed after it was committed.",
        "Results under that number can no longer be told from others. Restore the file.",
    ),
    Code.TRIAL_TWICE: Meaning(
        "Two branches recorded the same trial, and a merge kept only one of the two.",
        "The same run was resumed, or the same slot run again, in two clones. Which of two results "
        "counts must not be chosen afterwards. Undo the merge (`git reset --hard COMMIT^1` on a "
        "branch that nobody has yet), tag the other branch so that it is not lost, and merge it "
        "only up to the parent of the commit that added its trial. Say in an incident what "
        "happened.",
    ),
    Code.RESULTS_TWICE: Meaning(
        "The results of a run were added more than once.",
        "A run closes once. Results that come later have a generation of their own below "
        "`results/`.",
    ),
    Code.RESULTS_APART: Meaning(
        "The results of a run and its report were not added together.",
        "They are made from the same records at the same moment, and committed together.",
    ),
    Code.TRIAL_APART: Meaning(
        "A trial's record and its artifacts were not added in one commit.",
        "A trial enters the ledger whole. A file that came later was not there when the record "
        "was made; a record that came later was not made by the run.",
    ),
    Code.PLAN_MISSING: Meaning(
        "A run's folder has no plan.",
        "Without a plan nothing says what was fixed beforehand, and its trials count for nothing.",
    ),
    Code.PLAN_AFTER_TRIAL: Meaning(
        "A trial is on record that was added before its plan, or together with it.",
        "Then the plan was not fixed beforehand. Merging or squashing a run into one commit has "
        "the same effect: the order is lost. Merge ledgers, never squash them.",
    ),
    Code.PLAN_COMMIT_WRONG: Meaning(
        "A trial names another commit as that of its plan than the one that added it.",
        "The commits were rewritten (a rebase does that), or the record was made for another "
        "ledger. Bring ledgers together by merging.",
    ),
    Code.PLAN_DIGEST_WRONG: Meaning(
        "A trial was made for a plan with other bytes.",
        "The plan was replaced, or the trial's record comes from another run.",
    ),
    Code.PLAN_MISPLACED: Meaning(
        "A plan names another suite or run than the folder it is in.",
        "It was copied or moved here from another run.",
    ),
    Code.SCHEDULE_DIFFERS: Meaning(
        "The schedule does not follow from the seed.",
        "The order of trials is a function of the seed, so that nobody can choose it. Somebody "
        "wrote another one.",
    ),
    Code.SUITE_DIGEST_DIFFERS: Meaning(
        "A digest in the plan is not that of the files that the plan lists.",
        "The list or the digest was written by hand.",
    ),
    Code.LOCK_MISSING: Meaning(
        "A plan says that its suite was locked, but its lock was not there when it was committed.",
        "Without the lock the run is a draft, whatever the plan says.",
    ),
    Code.LOCK_UNREADABLE: Meaning(
        "A lock cannot be read.", "It was written by hand, or by a newer trialbook: update it."
    ),
    Code.LOCK_DIFFERS: Meaning(
        "A plan says that its suite was locked, but froze other files than the lock.",
        "The suite was changed under its number. Results of such a run do not compare with the "
        "others of the number.",
    ),
    Code.SUITE_DIFFERS: Meaning(
        "A suite's files are not those that the lock of its present number froze.",
        "Restore the files, or give the change the next number with `trialbook suite bump`.",
    ),
    Code.RECORD_UNREADABLE: Meaning(
        "A record cannot be read as what it should be.",
        "It was written by hand, or by a newer trialbook: update it.",
    ),
    Code.RECORD_NOT_CANONICAL: Meaning(
        "A record is not written as the program writes it.",
        "The same values always give the same bytes: keys in their order, two spaces of indent. "
        "Another program, or a person, wrote this.",
    ),
    Code.RECORD_MISPLACED: Meaning(
        "A record names another place than the one it is in.",
        "It was copied or moved here from another slot, trial or run.",
    ),
    Code.RECORD_MISSING: Meaning(
        "A trial's folder has no record.",
        "Only a record makes a trial of a folder. The rest of it was dropped, or never belonged.",
    ),
    Code.FILE_UNLISTED: Meaning(
        "A file is in a run's folder that no record speaks of.",
        "Nothing says where it comes from. If it was added by mistake, it has to stay, but no "
        "number counts it; keep notes in amendments.",
    ),
    Code.FILE_MODE: Meaning(
        "A file of a run is a link, a submodule or executable.",
        "The program writes ordinary files only.",
    ),
    Code.ARTIFACT_MISSING: Meaning("A file that a record lists is not there.", _CONTRADICTION),
    Code.ARTIFACT_DIFFERS: Meaning(
        "A file has another digest than its record says.", _CONTRADICTION
    ),
    Code.CUT_DIFFERS: Meaning(
        "What a record says of a log that was cut is not what is there.",
        "The beginning and the end, the line in between and the pointer to the whole are made "
        "together, from the same bytes. " + _CONTRADICTION,
    ),
    Code.EGRESS_DIFFERS: Meaning(
        "A record's counts of network requests do not follow from its log.", _CONTRADICTION
    ),
    Code.ATTEMPT_DIFFERS: Meaning(
        "A trial's attempts are not what its plan, their files or its record make of them.",
        "All attempts are charged to the trial, and whether there is a second one follows from the "
        "first one's end and the visible checks. " + _CONTRADICTION,
    ),
    Code.SESSION_DIFFERS: Meaning(
        "A trial's sessions are not what its plan, their files or each other make of them.",
        "Each session begins with the repository that the one before left, unless a change was "
        "laid in between, and every one is on record. " + _CONTRADICTION,
    ),
    Code.GRADE_DIFFERS: Meaning("A grade and the trial's record of it disagree.", _CONTRADICTION),
    Code.REGRADE_PARTIAL: Meaning(
        "A run was graded again only in part.",
        "Every trial that had grades is judged again, or left out with a reason, for all "
        "configurations alike: or else one of them could be favoured. Grade the run again.",
    ),
    Code.INCIDENT_UNOPENED: Meaning(
        "An incident was closed that was not opened before.",
        "Nothing then says what happened, or since when. The file of its opening was dropped, or "
        "the closing was written by hand.",
    ),
    Code.INCIDENT_DIFFERS: Meaning(
        "What an incident touched does not follow from its times and those of the trials.",
        "Every trial that ran while it lasted is touched, of whatever configuration, and none "
        "else; what the times do not show is added by task and repetition, with a reason. "
        "Look at who wrote this file, and say in an incident of its own what is right.",
    ),
    Code.INCIDENT_ONE_SIDED: Meaning(
        "A decision to run again or to invalidate is about one configuration only.",
        "It would excuse one side of the comparison. Such a decision names the slots of the same "
        "task and repetition under every configuration.",
    ),
    Code.REVIEW_CHANGED: Meaning(
        "A person's review was changed after it was committed.",
        "What was answered before anybody talked about it is what all numbers about agreement are "
        "made from. " + _REWRITTEN,
    ),
    Code.PATCH_DIFFERS: Meaning(
        "A trial's record and its patch disagree.",
        _CONTRADICTION,
    ),
    Code.PATCH_TREE_DIFFERS: Meaning(
        "A patch does not turn the recorded baseline into the recorded final state.",
        "What was graded is then not what the patch shows. " + _CONTRADICTION,
    ),
    Code.WORKSPACE_DIFFERS: Meaning(
        "A trial started from another workspace than the plan froze.", _CONTRADICTION
    ),
    Code.OUTCOME_DIFFERS: Meaning(
        "An outcome does not follow from the grades and the runner's evidence.",
        "The outcome is a function of both. " + _CONTRADICTION,
    ),
    Code.SLOT_UNPLANNED: Meaning(
        "A trial is on record for a slot that the plan does not have.",
        "It was added to the run afterwards, and counts for nothing.",
    ),
    Code.SLOT_HIDDEN: Meaning(
        "A slot of a closed run has no trial, and the results do not show it as not run.",
        "A scheduled slot without an outcome must stay visible, and in the denominator.",
    ),
    Code.RERUN_GAP: Meaning(
        "A trial in the middle of a slot's chain is missing.",
        "Replaced trials stay. One of this chain was dropped, or never recorded.",
    ),
    Code.RERUN_LINK: Meaning(
        "A trial does not name the one before it in its chain as the one that it replaces.",
        _CONTRADICTION,
    ),
    Code.RERUN_REASON: Meaning(
        "The reason of a rerun is not the outcome of the trial that it replaces.", _CONTRADICTION
    ),
    Code.RERUN_NEVER: Meaning(
        "A trial was replaced that was a valid execution.",
        "Failures of the agent are never run again: that would be choosing among results. Only "
        "failures of ours or of the world may be.",
    ),
    Code.RERUN_BEYOND_POLICY: Meaning(
        "A slot was run again more often than the plan allows, or for an outcome it does not list.",
        "The plan fixes how often, for all configurations alike.",
    ),
    Code.RERUN_BEFORE_REPLACED: Meaning(
        "A rerun was added before the trial that it replaces, or together with it.",
        "The replaced trial was not on record when the rerun was made.",
    ),
    Code.RERUN_INCIDENT: Meaning(
        "A rerun names an incident that did not allow it.",
        "The incident must be one of the run, closed before the rerun with the decision to rerun, "
        "and be about its slot; and a slot is run again for it only once.",
    ),
    Code.RESULTS_DIFFER: Meaning(
        "Results or a report are not what the records give.",
        "Made again from the records of the same commit, the file has other bytes. If another "
        "version of trialbook wrote it, verify with that one: the plan names it.",
    ),
    Code.UNSIGNED: Meaning(
        "A commit that adds to the ledger is not signed.",
        "With a list of signers, plans, trials and results must be signed by one of them.",
    ),
    Code.SIGNATURE_BAD: Meaning(
        "A commit's signature is not good.",
        "The commit was changed after it was signed, or the signature was copied from another.",
    ),
    Code.SIGNER_UNLISTED: Meaning(
        "A commit is signed by somebody who is not on the list.",
        "Add the key to the list on its protected branch, if the person may write to the ledger.",
    ),
}
_MEANINGS |= {Code(code): meaning for code, meaning in JUDGEMENT.items()}
