/** Provides shortcuts to bookmark or annotate the current rollout. */
import { useState } from "react"
import { useShortcuts } from "../ui/useShortcuts.tsx"
import { NoteDialog } from "./NoteDialog.tsx"
import { useNotes } from "./NotesContext.tsx"

export const NoteKeys = ({ group, rollout }: { readonly group: string; readonly rollout: number }) => {
  const notes = useNotes()
  const [isOpen, setIsOpen] = useState(false)
  const toggle = () => {
    const note = notes.of(group, rollout)
    notes.write(group, rollout, { ...note, bookmarked: !note.bookmarked })
  }
  useShortcuts(
    "Notes",
    [
      { keys: ["b"], label: "toggle bookmark", run: toggle },
      { keys: ["a"], label: "edit note", run: () => setIsOpen(true) }
    ],
    notes.isKept
  )
  return isOpen ? <NoteDialog group={group} rollout={rollout} onClose={() => setIsOpen(false)} /> : null
}
