/** Shows a modal dialog: the browser traps the focus in it and closes it on Escape. */
import { type ReactNode, useEffect, useId, useRef } from "react"
import { Icon } from "./Icon.tsx"

export const Modal = ({
  children,
  className,
  isAsking = true,
  onClose,
  title
}: {
  readonly title: string
  /** True if it has a field to focus first; otherwise the close button is focused. */
  readonly isAsking?: boolean
  readonly children: ReactNode
  readonly className?: string
  readonly onClose: () => void
}) => {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    if (ref.current?.open === false) ref.current.showModal()
  }, [])
  const close = (
    <button
      type="button"
      className="quiet icon-button dialog-close"
      aria-label="Close"
      onClick={() => ref.current?.close()}
    >
      <Icon name="close" />
    </button>
  )
  return (
    <dialog ref={ref} className={className} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {!isAsking && close}
      {children}
      {isAsking && close}
    </dialog>
  )
}
