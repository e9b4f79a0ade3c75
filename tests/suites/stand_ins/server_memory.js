// Stands in for the module of server-memory: its graph, behind an MCP client of `mnemic mcp`.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { afterEach } from "vitest";

const opened = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((client) => client.close()));
});

export class KnowledgeGraphManager {
  constructor(path) {
    this.path = `${path}.db`;
  }

  async call(name, given) {
    if (!this.client) {
      this.client = new Client({ name: "suite", version: "1" });
      const args = ["--db", this.path, "mcp", "--as", "server-memory", "--make"];
      await this.client.connect(new StdioClientTransport({ command: "mnemic", args, stderr: "ignore" }));
      opened.push(this.client);
    }
    const answer = await this.client.callTool({ name, arguments: given });
    if (answer.isError) throw new Error(answer.content[0].text);
    return answer.structuredContent;
  }

  createEntities = async (entities) => (await this.call("create_entities", { entities })).entities;
  createRelations = async (relations) => (await this.call("create_relations", { relations })).relations;
  addObservations = async (observations) => (await this.call("add_observations", { observations })).results;
  deleteEntities = (entityNames) => this.call("delete_entities", { entityNames });
  deleteObservations = (deletions) => this.call("delete_observations", { deletions });
  deleteRelations = (relations) => this.call("delete_relations", { relations });
  readGraph = () => this.call("read_graph", {});
  searchNodes = (query) => this.call("search_nodes", { query });
  openNodes = (names) => this.call("open_nodes", { names });
}
