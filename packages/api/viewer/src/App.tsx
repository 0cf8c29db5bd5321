/** Maps addresses to pages. */
import { Route, Router, Switch } from "wouter"
import { EvaluationPage } from "./evaluation/EvaluationPage.tsx"
import { EvaluationsPage } from "./evaluation/EvaluationsPage.tsx"
import { GroupPage } from "./groups/GroupPage.tsx"
import { GroupsPage } from "./groups/GroupsPage.tsx"
import { HackingPage } from "./hacking/HackingPage.tsx"
import { Layout } from "./layout/Layout.tsx"
import { NotFound } from "./layout/NotFound.tsx"
import { useHashLocation } from "./route/useHash.ts"
import { NotesProvider } from "./notes/NotesContext.tsx"
import { NotesPage } from "./notes/NotesPage.tsx"
import { ReverifiedPage } from "./reverified/ReverifiedPage.tsx"
import { RunPage } from "./run/RunPage.tsx"
import { ServicePage } from "./service/ServicePage.tsx"
import type { Source } from "./source/Source.ts"
import { SourceProvider } from "./state/SourceContext.tsx"
import { RunProvider } from "./state/useRun.tsx"

export const App = ({ source }: { readonly source: Source }) => (
  // oxlint-disable-next-line react/hooks -- wouter takes its location as a hook
  <Router hook={useHashLocation}>
    <SourceProvider source={source}>
      <RunProvider>
        <NotesProvider>
          <Layout>
            <Switch>
              <Route path="/" component={RunPage} />
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
