class Textskill < Formula
  desc "Carries out what agents ask of a workspace, and can undo it"
  homepage "https://github.com/textskill/textskill"
  version "@VERSION@"
  license "MIT"

  on_macos do
    on_arm do
      url "@RELEASES@/textskill_@VERSION@_darwin_arm64.tar.gz"
      sha256 "@darwin_arm64@"
    end
    on_intel do
      url "@RELEASES@/textskill_@VERSION@_darwin_amd64.tar.gz"
      sha256 "@darwin_amd64@"
    end
  end

  on_linux do
    on_arm do
      url "@RELEASES@/textskill_@VERSION@_linux_arm64.tar.gz"
      sha256 "@linux_arm64@"
    end
    on_intel do
      url "@RELEASES@/textskill_@VERSION@_linux_amd64.tar.gz"
      sha256 "@linux_amd64@"
    end
  end

  def install
    bin.install "skill" => "textskill"
    man1.install Dir["man/textskill*.1"]
    generate_completions_from_executable(bin/"textskill", "completion")
  end

  test do
    assert_match "Wrote file", pipe_output(bin/"textskill", "writeFile a.txt content: hi")
  end
end
