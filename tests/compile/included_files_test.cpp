// SPDX-License-Identifier: Apache-2.0
// included_files_test.cpp - finding the files that a source includes: all of them, or a note that
// some are unknown.
#include "compile/cache/included_files.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"

namespace weir::compile {
namespace {

class IncludedFiles : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder.path() / name).parent_path());
    std::ofstream{folder.path() / name} << text;
  }
  [[nodiscard]] included_files of(const std::string& source) const {
    request what;
    what.source = source;
    what.include_paths = {folder.path()};
    return included_by(what);
  }
  test::temporary_folder folder;
};

TEST_F(IncludedFiles, NestedIncludesAreFound) {
  write("a.h", "#pragma once\n# include <sub/b.h>\n");
  write("sub/b.h", "#include \"c.h\"\n#include \"../a.h\"\n");
  write("sub/c.h", "int c;");
  write("unused.h", "");
  const included_files found = of("  #  include \"a.h\"\n#include <cstdint>\nint a;\n");
  EXPECT_TRUE(found.is_complete);
  ASSERT_EQ(found.files.size(), 3u);
  EXPECT_NE(found.files[0].path.find("a.h"), std::string::npos);
  EXPECT_EQ(found.files[2].text, "int c;");
}

TEST_F(IncludedFiles, InactiveIncludesAreFound) {
  write("a.h", "");
  EXPECT_EQ(of("#if 0\n#include \"a.h\"\n#endif\n").files.size(), 1u);
}

TEST_F(IncludedFiles, UnresolvableIncludesAreReportedAsIncomplete) {
  EXPECT_FALSE(of("#define H <a.h>\n#include H\n").is_complete);
  EXPECT_FALSE(of("#if __has_include(<a.h>)\n#endif\n").is_complete);
  EXPECT_FALSE(of("/* x */ #include <a.h>\n").is_complete);
  EXPECT_FALSE(of("# /* x */ include <a.h>\n").is_complete);
  EXPECT_FALSE(of("#\\\ninclude <a.h>\n").is_complete);
  EXPECT_FALSE(of("#incl\\\nude <a.h>\n").is_complete);
  EXPECT_FALSE(of("#include/**/<a.h>\n").is_complete);
  EXPECT_TRUE(of("#define A \\\n 1\n").is_complete);
  EXPECT_TRUE(of("// #include nothing\nint included;\n").is_complete);
}

}  // namespace
}  // namespace weir::compile
