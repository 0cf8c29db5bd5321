/** Edits the labels and text of a rollout's note. */
import { type FormEvent, useMemo, useState } from "react"
import { Modal } from "../ui/Modal.tsx"
import { useNotes } from "./NotesContext.tsx"

/** Limits of the service. */
const maxLabels = 20
const maxLabelLength = 64
const maxTextLength = 4096

const labelsIn = (text: string): ReadonlyArray<string> =>
  [...new Set(text.split(",").map((label) => label.trim().slice(0, maxLabelLength)))]
    .filter((label) => label !== "")
    .slice(0, maxLabels)

export const NoteDialog = ({
  group,
  onClose,
  rollout
}: {
  readonly group: string
  readonly rollout: number
  readonly onClose: () => void
}) => {
  const notes = useNotes()
  const note = notes.of(group, rollout)
  const [labels, setLabels] = useState(note.labels.join(", "))
  const [text, setText] = useState(note.text)
  const known = useMemo(() => [...new Set((notes.all ?? []).flatMap((one) => one.labels))].sort(), [notes.all])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    notes.write(group, rollout, { ...note, labels: labelsIn(labels), text: text.trim() })
    onClose()
  }
  return (
    <Modal title={`Note on rollout ${rollout + 1} of group ${group}`} className="note-dialog" onClose={onClose}>
      <form className="dialog-form" onSubmit={submit}>
        <label>
          Labels, comma-separated
          <input value={labels} onChange={({ target }) => setLabels(target.value)} />
        </label>
        {known.length > 0 && (
          <p className="known-labels" role="group" aria-label="Labels of this run">
            {known.slice(0, 30).map((label) => (
              <button
                key={label}
                type="button"
                className="small"
                onClick={() => setLabels(labelsIn(`${labels},${label}`).join(", "))}
              >
                {label}
              </button>
            ))}
          </p>
        )}
        <label>
          Note
          <textarea rows={5} maxLength={maxTextLength} value={text} onChange={({ target }) => setText(target.value)} />
        </label>
        <button type="submit">Save</button>
      </form>
    </Modal>
  )
}
