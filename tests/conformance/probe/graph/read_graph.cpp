// SPDX-License-Identifier: Apache-2.0
// probe/graph/read_graph.cpp - describes a graph or a capture in the recording's notation.
#include "probe/graph/read_graph.hpp"

#include "probe/driver.hpp"
#include "probe/record.hpp"

#include <algorithm>
#include <map>

namespace weir::conformance {

size_t count_nodes(CUgraph gr) {
  size_t n = 0;
  if (!gr || cuGraphGetNodes(gr, nullptr, &n) != CUDA_SUCCESS) return kUnknown;
  return n;
}
size_t count_edges(CUgraph gr) {
  size_t n = 0;
  if (!gr || cuGraphGetEdges(gr, nullptr, nullptr, nullptr, &n) != CUDA_SUCCESS) return kUnknown;
  return n;
}
size_t count_roots(CUgraph gr) {
  size_t n = 0;
  if (!gr || cuGraphGetRootNodes(gr, nullptr, &n) != CUDA_SUCCESS) return kUnknown;
  return n;
}
size_t count_deps(CUgraphNode nd) {
  size_t n = 0;
  if (!nd || cuGraphNodeGetDependencies(nd, nullptr, nullptr, &n) != CUDA_SUCCESS) return kUnknown;
  return n;
}
size_t count_dependents(CUgraphNode nd) {
  size_t n = 0;
  if (!nd || cuGraphNodeGetDependentNodes(nd, nullptr, nullptr, &n) != CUDA_SUCCESS)
    return kUnknown;
  return n;
}
Nodes nodes_of(CUgraph gr) {
  size_t n = count_nodes(gr);
  if (n == kUnknown) return {};
  Nodes v(n);
  if (n) OK(cuGraphGetNodes(gr, v.data(), &n));
  return v;
}
std::string type_of(CUgraphNode n) {
  CUgraphNodeType t = CU_GRAPH_NODE_TYPE_EMPTY;
  CUresult e = cuGraphNodeGetType(n, &t);
  return e == CUDA_SUCCESS ? name_of(t) : result_name(e);
}

std::string node_label(CUgraphNode n) {
  CUgraphNodeType t = CU_GRAPH_NODE_TYPE_EMPTY;
  if (cuGraphNodeGetType(n, &t) != CUDA_SUCCESS) return "?";
  switch (static_cast<int>(t)) {
    case CU_GRAPH_NODE_TYPE_HOST: {
      CUDA_HOST_NODE_PARAMS p{};
      if (cuGraphHostNodeGetParams(n, &p) == CUDA_SUCCESS) {
        const Label* l = as_label(p.userData);
        if (l) return l->name;
      }
      return "host";
    }
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      CUDA_MEMSET_NODE_PARAMS p{};
      if (cuGraphMemsetNodeGetParams(n, &p) == CUDA_SUCCESS) return "set" + std::to_string(p.value);
      return "set?";
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY: return "copy";
    case CU_GRAPH_NODE_TYPE_KERNEL: return "kernel";
    case CU_GRAPH_NODE_TYPE_GRAPH: return "child";
    case CU_GRAPH_NODE_TYPE_EMPTY: return "empty";
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return "wait";
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return "record";
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return "alloc";
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return "free";
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return "memop";
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return "cond";
    default: return name_of(t);
  }
}

std::string describe(CUgraph gr) {
  if (!gr) return "null";
  Nodes v = nodes_of(gr);
  std::map<std::string, int> seen, total;
  std::map<CUgraphNode, std::string> name;
  for (CUgraphNode n : v) total[node_label(n)]++;
  for (CUgraphNode n : v) {
    std::string l = node_label(n);
    name[n] = total[l] > 1 ? l + "#" + std::to_string(++seen[l]) : l;
  }
  std::vector<std::string> ns, es;
  for (auto& [n, l] : name) ns.push_back(l);
  size_t ne = count_edges(gr);
  if (ne != kUnknown && ne > 0) {
    Nodes from(ne), to(ne);
    std::vector<CUgraphEdgeData> data(ne);
    if (cuGraphGetEdges(gr, from.data(), to.data(), data.data(), &ne) == CUDA_SUCCESS) {
      for (size_t i = 0; i < ne; i++) {
        std::string e = name[from[i]] + ">" + name[to[i]];
        if (data[i].type)
          e += "!" + std::to_string(data[i].type) + ":" + std::to_string(data[i].from_port);
        es.push_back(e);
      }
    }
  }
  std::sort(ns.begin(), ns.end());
  std::sort(es.begin(), es.end());
  std::string o;
  for (size_t i = 0; i < ns.size(); i++) o += (i ? "," : "") + ns[i];
  o += "/";
  for (size_t i = 0; i < es.size(); i++) o += (i ? "," : "") + es[i];
  return o;
}

std::string listed_types(CUgraph gr) {
  std::string o;
  for (CUgraphNode n : nodes_of(gr)) o += (o.empty() ? "" : ",") + type_of(n);
  return o.empty() ? "-" : o;
}

std::string capture_status(CUstream s) {
  CUstreamCaptureStatus st = CU_STREAM_CAPTURE_STATUS_NONE;
  CUresult e = cuStreamIsCapturing(s, &st);
  return e == CUDA_SUCCESS ? name_of(st) : result_name(e);
}
void begin(CUstream s, CUstreamCaptureMode m) { OK(cuStreamBeginCapture(s, m)); }
CUgraph end_ok(CUstream s) {
  CUgraph gr = nullptr;
  OK(cuStreamEndCapture(s, &gr));
  return gr;
}
void rec_end(Rec& r, const std::string& key, CUstream s) {
  CUgraph gr = reinterpret_cast<CUgraph>(static_cast<uintptr_t>(0x10));
  CUresult e = cuStreamEndCapture(s, &gr);
  r.k(key, e);
  if (gr == reinterpret_cast<CUgraph>(static_cast<uintptr_t>(0x10))) {
    r.k(key + ".graph", "untouched");
  } else if (!gr) {
    r.k(key + ".graph", "null");
  } else {
    r.k(key + ".graph", describe(gr));
    cuGraphDestroy(gr);
  }
}

size_t capture_deps(CUstream s) {
  CUstreamCaptureStatus st;
  size_t n = 0;
  const CUgraphNode* d = nullptr;
  const CUgraphEdgeData* ed = nullptr;
  if (cuStreamGetCaptureInfo(s, &st, nullptr, nullptr, &d, &ed, &n) != CUDA_SUCCESS)
    return kUnknown;
  return n;
}
cuuint64_t capture_id(CUstream s) {
  CUstreamCaptureStatus st;
  cuuint64_t id = 0;
  if (cuStreamGetCaptureInfo(s, &st, &id, nullptr, nullptr, nullptr, nullptr) != CUDA_SUCCESS)
    return 0;
  return id;
}
CUgraph capture_graph(CUstream s) {
  CUstreamCaptureStatus st;
  CUgraph gr = nullptr;
  if (cuStreamGetCaptureInfo(s, &st, nullptr, &gr, nullptr, nullptr, nullptr) != CUDA_SUCCESS)
    return nullptr;
  return gr;
}
std::string capture_dep_labels(CUstream s) {
  CUstreamCaptureStatus st;
  size_t n = 0;
  const CUgraphNode* d = nullptr;
  const CUgraphEdgeData* ed = nullptr;
  CUresult e = cuStreamGetCaptureInfo(s, &st, nullptr, nullptr, &d, &ed, &n);
  if (e != CUDA_SUCCESS) return result_name(e);
  if (st != CU_STREAM_CAPTURE_STATUS_ACTIVE) return name_of(st);
  std::vector<std::string> v;
  for (size_t i = 0; i < n; i++) v.push_back(node_label(d[i]));
  std::sort(v.begin(), v.end());
  std::string o;
  for (auto& x : v) o += (o.empty() ? "" : ",") + x;
  return o.empty() ? "-" : o;
}

}  // namespace weir::conformance
