/** Shows an error instead of a page that throws; the rest of the viewer keeps working. */
import { Component, type ReactNode } from "react"

interface Props {
  readonly children: ReactNode
}

export class ErrorBoundary extends Component<Props, { readonly error: unknown }> {
  override state: { readonly error: unknown } = { error: null }

  static getDerivedStateFromError(error: unknown) {
    return { error }
  }

  override render() {
    if (this.state.error === null) return this.props.children
    return (
      <div className="note danger" role="alert">
        <h2>Something went wrong on this page</h2>
        <p>This is a bug in the viewer, not in your run; other pages still work. The error:</p>
        <pre>{this.state.error instanceof Error ? this.state.error.message : "unknown"}</pre>
        <button type="button" onClick={() => this.setState({ error: null })}>
          Try again
        </button>
      </div>
    )
  }
}
