/** Deletes the current run after confirmation in a dialog that names it. Hidden unless the service permits it. */
import { useState } from "react"
import { useLocation } from "wouter"
import { runPath } from "../route/Location.ts"
import { SourceError } from "../source/Source.ts"
import { useSource } from "../state/SourceContext.tsx"
import { useRemote } from "../state/useRemote.ts"
import { useRuns } from "../state/useRun.tsx"
import { Modal } from "../ui/Modal.tsx"

export const DeleteRun = ({ run }: { readonly run: string }) => {
  const { administration } = useSource()
  const may = useRemote(administration === null ? null : "may delete", (_, signal) =>
    administration === null ? Promise.resolve(false) : administration.mayDelete(signal)
  )
  const [isAsked, setIsAsked] = useState(false)
  if (administration === null || may.value !== true) return null
  return (
    <div className="run-end">
      <button type="button" className="small danger" onClick={() => setIsAsked(true)}>
        Delete run…
      </button>
      {isAsked && (
        <Confirmation key={run} run={run} deleteRun={administration.deleteRun} onClose={() => setIsAsked(false)} />
      )}
    </div>
  )
}

interface ConfirmationProps {
  readonly run: string
  readonly deleteRun: (run: string) => Promise<void>
  readonly onClose: () => void
}

const Confirmation = ({ deleteRun, onClose, run }: ConfirmationProps) => {
  const [, navigate] = useLocation()
  const { runs } = useRuns()
  const [isUnderWay, setIsUnderWay] = useState(false)
  const [refusal, setRefusal] = useState<string | null>(null)
  const remove = () => {
    setIsUnderWay(true)
    setRefusal(null)
    deleteRun(run).then(
      () => {
        onClose()
        runs.reload()
        // The loaded list still contains it.
        navigate(runPath(runs.value?.find(({ name }) => name !== run)?.name ?? null))
      },
      (cause: unknown) => {
        setIsUnderWay(false)
        setRefusal(cause instanceof SourceError ? cause.message : String(cause))
      }
    )
  }
  return (
    <Modal title={`Delete run “${run}”?`} onClose={onClose}>
      <div className="dialog-form">
        <p>
          Permanently deletes its rollouts, metrics, notes, evaluations and saved states, and those of earlier runs of
          its name. Checkpoints and files are kept.
        </p>
        {refusal !== null && (
          <p className="run-refusal" role="alert">
            {refusal}
          </p>
        )}
        <div className="dialog-buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="button" className="danger" disabled={isUnderWay} onClick={remove}>
            {isUnderWay ? "Deleting…" : `Delete ${run}`}
          </button>
        </div>
      </div>
    </Modal>
  )
}
