import { Link } from "wouter"
import { Empty } from "../ui/Note.tsx"

export const NotFound = () => (
  <Empty title="Page not found">
    <p>The address may be incomplete.</p>
    <Link className="button" href="/">
      Go to run
    </Link>
  </Empty>
)
