/** Starts the viewer on the rollouts saved in the page, otherwise on the service that served it. */
import { type ReactNode, StrictMode, useEffect, useState } from "react"
import { createRoot } from "react-dom/client"
import { ErrorBoundary } from "./layout/ErrorBoundary.tsx"
import { navigate, useHashLocation } from "./route/useHash.ts"
import * as HttpSource from "./source/HttpSource.ts"
import { type Source, SourceError } from "./source/Source.ts"
import * as InlineSource from "./source/InlineSource.ts"
import "./styles/index.css"
import { Link, Route, Router, Switch } from "wouter"
import { EvaluationPage } from "./evaluation/EvaluationPage.tsx"
import { EvaluationsPage } from "./evaluation/EvaluationsPage.tsx"
import { GroupPage } from "./groups/GroupPage.tsx"
import { GroupsPage } from "./groups/GroupsPage.tsx"
import { HackingPage } from "./hacking/HackingPage.tsx"
import { Layout } from "./layout/Layout.tsx"
import { NotesProvider } from "./notes/NotesContext.tsx"
import { NotesPage } from "./notes/NotesPage.tsx"
import { ReverifiedPage } from "./reverified/ReverifiedPage.tsx"
import { RunPage } from "./run/RunPage.tsx"
import { RunsPage } from "./run/RunsPage.tsx"
import { ServicePage } from "./service/ServicePage.tsx"
import { SourceProvider } from "./state/SourceContext.tsx"
import { RunProvider } from "./state/useRun.tsx"
import { Empty, Failure, Loading } from "./ui/Note.tsx"

/** Waits for the source: a saved page must be unpacked first. */
const Opening = ({
  children,
  source
}: {
  readonly source: Promise<Source>
  readonly children: (source: Source) => ReactNode
}) => {
  const [opened, setOpened] = useState<Source | SourceError | null>(null)
  useEffect(() => {
    source.then(setOpened, (cause: unknown) =>
      setOpened(cause instanceof SourceError ? cause : new SourceError("failed", String(cause)))
    )
  }, [source])
  if (opened === null) return <Loading what="rollouts" />
  return opened instanceof SourceError ? (
    <main>
      <Failure error={opened} />
    </main>
  ) : (
    children(opened)
  )
}

const NotFound = () => (
  <Empty title="Page not found">
    <p>The address may be incomplete.</p>
    <Link className="button" href="/">
      Go to run
    </Link>
  </Empty>
)

/** Maps addresses to pages. */
const App = ({ source }: { readonly source: Source }) => (
  // oxlint-disable-next-line react/hooks -- wouter takes its location as a hook
  <Router hook={useHashLocation}>
    <SourceProvider source={source}>
      <RunProvider>
        <NotesProvider>
          <Layout>
            <Switch>
              <Route path="/" component={RunPage} />
              <Route path="/runs" component={RunsPage} />
              <Route path="/groups" component={GroupsPage} />
              <Route path="/groups/:run/:id" component={GroupPage} />
              <Route path="/hacking" component={HackingPage} />
              <Route path="/reverified" component={ReverifiedPage} />
              <Route path="/notes" component={NotesPage} />
              <Route path="/evaluations" component={EvaluationsPage} />
              <Route path="/evaluations/:id" component={EvaluationPage} />
              <Route path="/service" component={ServicePage} />
              <Route component={NotFound} />
            </Switch>
          </Layout>
        </NotesProvider>
      </RunProvider>
    </SourceProvider>
  </Router>
)

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
