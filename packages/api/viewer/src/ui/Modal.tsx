/** A modal dialog: the browser keeps the focus in it and closes it on Escape. */
import { type ReactNode, useEffect, useId, useRef } from "react"
import { Icon } from "./Icon.tsx"

export const Modal = ({
  children,
  className,
  onClose,
  title
}: {
  readonly title: string
  readonly children: ReactNode
  readonly className?: string
  readonly onClose: () => void
}) => {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    if (ref.current?.open === false) ref.current.showModal()
  }, [])
  return (
    <dialog ref={ref} className={className} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
      {/* Last, so that what the dialog asks for gets the focus first. */}
      <button
        type="button"
        className="quiet icon-button dialog-close"
        aria-label="Close"
        onClick={() => ref.current?.close()}
      >
        <Icon name="close" />
      </button>
    </dialog>
  )
}
