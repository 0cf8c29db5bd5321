/** Starts the viewer on the rollouts saved in the page, otherwise on the service that served it. */
import { StrictMode } from "react"
import { createRoot } from "react-dom/client"
import { App } from "./App.tsx"
import { ErrorBoundary } from "./layout/ErrorBoundary.tsx"
import { Opening } from "./layout/Opening.tsx"
import { navigate } from "./route/useHash.ts"
import * as HttpSource from "./source/HttpSource.ts"
import type { Source } from "./source/Source.ts"
import * as InlineSource from "./source/InlineSource.ts"
import "./styles/index.css"

const embedded = document.getElementById("atropos-data")?.textContent?.trim() ?? ""
/** Attributes written by the service (`ViewerPage`). */
const page = document.documentElement.dataset
const isFile = window.location.protocol === "file:"

/** A page opened from disk without data has no service either. */
const open = async (): Promise<Source> =>
  embedded !== ""
    ? InlineSource.open(embedded)
    : isFile
      ? InlineSource.make({ title: "", runs: [] })
      : HttpSource.make("", { isFiles: page["groups"] === "files", opens: page["opens"] ?? null })

/** Saved groups without metrics open on the list. */
const arrive = (source: Source): Source => {
  if (!source.hasMetrics && window.location.hash === "") navigate("/groups", { replace: true })
  return source
}

const source = open().then(arrive)
const element = document.getElementById("app")
if (element === null) throw new Error("the page has no #app")

createRoot(element).render(
  <StrictMode>
    <ErrorBoundary>
      <Opening source={source}>{(source) => <App source={source} />}</Opening>
    </ErrorBoundary>
  </StrictMode>
)
