import { Link } from "wouter"
import { Empty } from "../ui/Note.tsx"

export const NotFound = () => (
  <Empty title="There is no such page">
    <p>The address may have been cut short.</p>
    <Link className="button" href="/">
      To the run
    </Link>
  </Empty>
)
