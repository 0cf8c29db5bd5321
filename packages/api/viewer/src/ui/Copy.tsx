/** Copies to the clipboard, also without the clipboard API, which needs localhost or https. */
import { useEffect, useState } from "react"
import { Icon, type IconName } from "./Icon.tsx"

/** Resolves to true on success. */
export const copy = async (text: string): Promise<boolean> => {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement("textarea")
    area.value = text
    area.style.position = "fixed"
    document.body.append(area)
    area.select()
    // oxlint-disable-next-line typescript/no-deprecated -- the only way without a secure context
    const isDone = document.execCommand("copy")
    area.remove()
    return isDone
  }
}

export type CopyState = "copied" | "refused" | null

export const useCopied = (): readonly [state: CopyState, copy: (text: string) => void] => {
  const [state, setState] = useState<CopyState>(null)
  useEffect(() => {
    if (state === null) return
    const timer = setTimeout(() => setState(null), 1600)
    return () => clearTimeout(timer)
  }, [state])
  return [state, (text) => void copy(text).then((isDone) => setState(isDone ? "copied" : "refused"))]
}

const labels = { copied: "Copied", refused: "Copy failed" }

export const CopyButton = ({
  icon = "copy",
  isIconOnly = false,
  label,
  text
}: {
  readonly label: string
  /** Called only on copying. */
  readonly text: () => string
  readonly icon?: IconName
  readonly isIconOnly?: boolean
}) => {
  const [state, copyText] = useCopied()
  return (
    <button
      type="button"
      className={isIconOnly ? "quiet small icon-button" : "small"}
      title={isIconOnly ? label : undefined}
      onClick={() => copyText(text())}
    >
      <Icon name={state === "copied" ? "check" : icon} />
      <span className={isIconOnly ? "sr-only" : undefined} aria-live="polite">
        {state === null ? label : labels[state]}
      </span>
    </button>
  )
}
