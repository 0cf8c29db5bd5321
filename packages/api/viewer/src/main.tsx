/** Starts the viewer on the rollouts saved in the page, else on the service that sent it. */
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
/** What the service wrote into the page (`ViewerPage`). */
const page = document.documentElement.dataset
const isFile = window.location.protocol === "file:"

/** A page from disk that nobody filled has no service to ask either. */
const open = async (): Promise<Source> =>
  embedded !== ""
    ? InlineSource.open(embedded)
    : isFile
      ? InlineSource.make({ title: "", runs: [] })
      : HttpSource.make("", { isFiles: page["groups"] === "files", opens: page["opens"] ?? null })

/** Saved groups open where they have something to show. */
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
