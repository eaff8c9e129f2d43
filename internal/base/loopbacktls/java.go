package loopbacktls

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"

	"software.sslmate.com/src/go-pkcs12"
)

// javaOptions is the variable with options that every Java virtual machine reads before its command line.
const javaOptions = "JAVA_TOOL_OPTIONS"

// trustStorePassword is the default password of Java's trust stores. It protects nothing, but Java requires one to
// read the file.
const trustStorePassword = "changeit"

// trustJava adds options to env so that Java programs trust the endpoint in addition to the system's certificates. A
// trust store cannot extend another one, so the file contains both. trustJava does nothing if env sets its own trust
// store. It also does nothing if the system has no certificate bundle, because the program would then trust only the
// endpoint. The caller holds mu.
func (d *Endpoint) trustJava(env map[string]string) error {
	system := firstFile(bundles())
	if system == "" || hasProperty(env, "javax.net.ssl.trustStore") {
		return nil
	}
	file, err := d.derived("p12", system, func(bundle []byte) ([]byte, error) {
		store, err := pkcs12.Modern2023.EncodeTrustStore(certificates(bundle, d.ca), trustStorePassword)
		if err != nil {
			return nil, fmt.Errorf("make a trust store for Java: %w", err)
		}
		return store, nil
	})
	if err != nil {
		return err
	}
	if strings.ContainsAny(file, " \t") {
		file = `"` + file + `"`
	}
	env[javaOptions] = strings.TrimPrefix(fmt.Sprintf("%s -Djavax.net.ssl.trustStore=%s -Djavax.net.ssl.trustStoreType=PKCS12 "+
		"-Djavax.net.ssl.trustStorePassword=%s", env[javaOptions], file, trustStorePassword), " ")
	return nil
}

// certificates returns the distinct certificates in PEM texts. It skips unreadable ones, so that one bad certificate
// in a bundle does not lose the others.
func certificates(texts ...[]byte) []*x509.Certificate {
	var all []*x509.Certificate
	for _, text := range texts {
		for {
			block, rest := pem.Decode(text)
			if block == nil {
				break
			}
			text = rest
			if certificate, err := x509.ParseCertificate(block.Bytes); err == nil {
				all = append(all, certificate)
			}
		}
	}
	seen := map[string]bool{}
	kept := all[:0]
	for _, certificate := range all {
		if key := string(certificate.Raw); !seen[key] {
			seen[key] = true
			kept = append(kept, certificate)
		}
	}
	return kept
}

// hasProperty reports whether a Java system property is set by any variable from which Java reads options.
func hasProperty(env map[string]string, property string) bool {
	for _, name := range []string{javaOptions, "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"} {
		if strings.Contains(env[name], "-D"+property+"=") {
			return true
		}
	}
	return false
}
