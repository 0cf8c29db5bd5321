/** Shows placeholders for a page: loading, empty, failed. */
import type { ReactNode } from "react"
import type { SourceError } from "../source/Source.ts"

export const Loading = ({ what }: { readonly what: string }) => (
  <div className="loading" role="status">
    {`Loading ${what}…`}
  </div>
)

export const Empty = ({ children, title }: { readonly title: string; readonly children?: ReactNode }) => (
  <div className="note">
    <h2>{title}</h2>
    {children}
  </div>
)

const titles: { readonly [Kind in SourceError["kind"]]: string } = {
  unauthorized: "Token required",
  forbidden: "This token has no access",
  "not-found": "Not found",
  unreachable: "Service unreachable",
  static: "Not in a saved page",
  failed: "Something went wrong"
}

/** Shows the error, with a retry button if that may help. */
export const Failure = ({ error, onRetry }: { readonly error: SourceError; readonly onRetry?: () => void }) => (
  <div className="note danger" role="alert">
    <h2>{titles[error.kind]}</h2>
    <p>{error.message}</p>
    {onRetry !== undefined && error.kind !== "static" && (
      <button type="button" onClick={onRetry}>
        Try again
      </button>
    )}
  </div>
)
