/**
 * Serves a small MCP server over standard streams: stock and prices of a generated warehouse. The default server of
 * `mcp`: `node WarehouseServer.ts [seed]`.
 */
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import * as Warehouse from "./Warehouse.ts"

const stock = Warehouse.make(Number(process.argv[2] ?? 0))
const server = new Server({ name: "warehouse", version: "0.1.0" }, { capabilities: { tools: {} } })

const describe = (name: string, description: string, parameters: ReadonlyArray<string>) => ({
  name,
  description,
  inputSchema: {
    type: "object" as const,
    properties: Object.fromEntries(
      parameters.map((one) => [one, { type: "string", description: `name of the ${one}` }])
    ),
    required: Array.from(parameters)
  }
})

const tools = [
  describe("list_shelves", "The names of all shelves.", []),
  describe("count", "How many pieces of an article lie on a shelf.", ["article", "shelf"]),
  describe("price", "What one piece of an article costs, in cents.", ["article"])
]

/** The answer of a tool; undefined for an unknown article or shelf. */
const answerOf = (name: string, input: { readonly [parameter: string]: unknown }): string | undefined => {
  const [article, shelf] = [String(input["article"]), String(input["shelf"])]
  if (name === "list_shelves") return stock.shelves.join(", ")
  return (name === "count" ? Warehouse.count(stock, article, shelf) : stock.prices.get(article))?.toString()
}

const stockText = `articles are ${stock.articles.join(", ")}, shelves ${stock.shelves.join(", ")}`

server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }))
server.setRequestHandler(CallToolRequestSchema, ({ params: { arguments: input = {}, name } }) => {
  const text = tools.some((tool) => tool.name === name) ? answerOf(name, input) : undefined
  return {
    content: [{ type: "text", text: text ?? `${name} does not know ${JSON.stringify(input)}: ${stockText}` }],
    isError: text === undefined
  }
})
await server.connect(new StdioServerTransport())
