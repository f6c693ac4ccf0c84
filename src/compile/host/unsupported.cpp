// SPDX-License-Identifier: Apache-2.0
// compile/host/unsupported.cpp - by their names.
#include "compile/host/unsupported.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace weir::compile {
namespace {

struct feature {
  std::string_view name;  // of an identifier; one that ends with * stands for all that begin so
  std::string_view what;
};

constexpr std::string_view textures = "textures and surfaces";
constexpr std::string_view launches = "launches and the runtime API in device code";
constexpr std::string_view matrices = "tensor cores (wmma)";

constexpr std::array features{
    feature{"tex1D*", textures},
    feature{"tex2D*", textures},
    feature{"tex3D*", textures},
    feature{"texCubemap*", textures},
    feature{"surf1D*", textures},
    feature{"surf2D*", textures},
    feature{"surf3D*", textures},
    feature{"cudaTextureObject_t", textures},
    feature{"cudaSurfaceObject_t", textures},
    feature{"texture", textures},
    feature{"surface", textures},
    feature{"wmma", matrices},
    feature{"mma_sync", matrices},
    feature{"cudaLaunch*", launches},
    feature{"cudaMalloc*", launches},
    feature{"cudaFree*", launches},
    feature{"cudaMemcpy*", launches},
    feature{"cudaMemset*", launches},
    feature{"cudaStream*", launches},
    feature{"cudaEvent*", launches},
    feature{"cudaDeviceSynchronize", launches},
    feature{"cudaGetLastError", launches},
    feature{"cudaGetParameterBuffer*", launches},
    feature{"__cvta_*", "addresses of one state space"},
    feature{"__pipeline_*", "pipelines"},
    feature{"try", "exceptions"},
    feature{"throw", "exceptions"},
    feature{"catch", "exceptions"},
    feature{"dynamic_cast", "run-time type information"},
    feature{"typeid", "run-time type information"},
    feature{"thread_local", "thread_local variables"},
};

bool matches(const feature& f, std::string_view name) {
  if (f.name.back() != '*') return f.name == name;
  return name.starts_with(f.name.substr(0, f.name.size() - 1));
}

}  // namespace

std::vector<std::string> unsupported(const token_list& list) {
  std::vector<std::string> lines;
  const std::vector<token>& t = list.tokens;
  const auto refuse = [&](const token& at, std::string_view what, std::string_view how) {
    lines.push_back(list.files[at.file] + ":" + std::to_string(at.line) + ": error: " +
                    std::string(what) + " not supported on the embedded device" + std::string(how));
  };
  const auto is = [&](std::size_t i, std::string_view what) {
    return i < t.size() && t[i].is(what);
  };
  for (std::size_t i = 0; i < t.size(); ++i) {
    if (is(i, "<") && is(i + 1, "<") && is(i + 2, "<") && t[i + 2].offset == t[i].offset + 2) {
      refuse(t[i], "<<<...>>> is", ": kernels are launched by the host");
      i += 2;
    }
    if (!t[i].identifier()) continue;
    if (is(i, "asm") || is(i, "__asm__") || is(i, "__asm")) {
      std::size_t text = i + 1;
      while (is(text, "volatile") || is(text, "__volatile__") || is(text, "(")) ++text;
      // One without instructions is a fence for the compiler.
      if (!is(text, "\"\"")) refuse(t[i], "inline PTX assembly is", "");
      continue;
    }
    const auto* const f = std::find_if(features.begin(), features.end(),
                                       [&](const feature& x) { return matches(x, t[i].text); });
    if (f == features.end()) continue;
    if ((f->name == "texture" || f->name == "surface") && (!is(i + 1, "<") || is(i + 2, "<")))
      continue;  // a name as any other
    if (f->name == "wmma" && !is(i + 1, "::")) continue;
    if ((f->name == "cudaMalloc*" || f->name == "cudaFree*" || f->name == "cudaMemcpy*") &&
        !is(i + 1, "("))
      continue;
    refuse(t[i], std::string(t[i].text) + ": " + std::string(f->what) + " are", "");
  }
  return lines;
}

}  // namespace weir::compile
