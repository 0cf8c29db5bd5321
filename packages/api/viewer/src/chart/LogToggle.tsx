/** Toggles the log scale of one chart's vertical axis. */
interface LogToggleProps {
  readonly title: string
  readonly isLogY: boolean
  readonly onChange: (isLogY: boolean) => void
}

export const LogToggle = ({ isLogY, onChange, title }: LogToggleProps) => (
  <button
    type="button"
    className="quiet small"
    aria-pressed={isLogY}
    aria-label={`log axis, ${title}`}
    title="Logarithmic axis"
    onClick={() => onChange(!isLogY)}
  >
    log
  </button>
)
